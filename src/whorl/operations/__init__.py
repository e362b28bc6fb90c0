"""Declares the options of each operation once: type, bounds, default, help. All front ends derive theirs from here.

Each field of an operation is an option. In some front ends it may have another name, or be absent for a stated reason.
The command line derives its flags (`cli/flags.py`), HTTP its request bodies (`routes/base_models.py`), and MCP the
parameters of its tools (`mcp.py`). Each front end declares for itself the subject of an operation (a query, documents,
texts, files) and the format of its result.

Creating these classes takes longer than importing other modules, so a command imports only the modules that it needs.
"""

from typing import TYPE_CHECKING, Any

from whorl.lazy_exports import lazily

if TYPE_CHECKING:
    from whorl.operations.duplicates import DuplicatesOperation as DuplicatesOperation
    from whorl.operations.index_delete_simhash import DeleteOperation as DeleteOperation
    from whorl.operations.index_delete_simhash import IndexOperation as IndexOperation
    from whorl.operations.index_delete_simhash import SimhashOperation as SimhashOperation
    from whorl.operations.option_declaration import FRONT_ENDS as FRONT_ENDS
    from whorl.operations.option_declaration import MAX_ROWS as MAX_ROWS
    from whorl.operations.option_declaration import MAX_START as MAX_START
    from whorl.operations.option_declaration import QUERY_SCHEMA as QUERY_SCHEMA
    from whorl.operations.option_declaration import FrontEnd as FrontEnd
    from whorl.operations.option_declaration import OptionField as OptionField
    from whorl.operations.option_declaration import changed_options as changed_options
    from whorl.operations.option_declaration import operation_of as operation_of
    from whorl.operations.option_declaration import options_of as options_of
    from whorl.operations.option_declaration import require_choices as require_choices
    from whorl.operations.searches import Boilerplate as Boilerplate
    from whorl.operations.searches import Columns as Columns
    from whorl.operations.searches import CommonOptions as CommonOptions
    from whorl.operations.searches import CompareOperation as CompareOperation
    from whorl.operations.searches import ExplainOperation as ExplainOperation
    from whorl.operations.searches import IgnorableBoilerplate as IgnorableBoilerplate
    from whorl.operations.searches import Paging as Paging
    from whorl.operations.searches import QueryPlan as QueryPlan
    from whorl.operations.searches import Reading as Reading
    from whorl.operations.searches import SearchOperation as SearchOperation
    from whorl.operations.searches import SimilarOperation as SimilarOperation
    from whorl.operations.sources_and_verify import SourcesOperation as SourcesOperation
    from whorl.operations.sources_and_verify import VerifyOperation as VerifyOperation

__getattr__, __all__ = lazily(__name__)


def all_operations() -> tuple[type[Any], ...]:
    """Return the classes of all operations, in the order of the documentation; this imports all of them."""
    names = ("Similar", "Search", "Explain", "Sources", "Verify", "Compare", "Duplicates", "Index", "Delete", "Simhash")
    return tuple(__getattr__(f"{name}Operation") for name in names)
