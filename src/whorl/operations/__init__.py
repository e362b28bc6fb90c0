"""Declares the options of each operation once (type, bounds, default, help) for all front ends.

Each field of an operation is an option. In some front ends it may have another name, or be absent for a stated reason.
The command line derives its flags (`cli/shared/flags.py`), HTTP its request bodies (`routes/request_models.py`), and
MCP the parameters of its tools (`mcp.py`). Each front end declares for itself the subject of an operation (a query,
documents, texts, files) and the format of its result.

Creating these classes takes longer than importing other modules, so a command imports only the modules that it needs.
"""

from typing import TYPE_CHECKING, Any

from whorl.lazy_exports import lazily

if TYPE_CHECKING:
    from whorl.operations.duplicates_options import DuplicatesOperation as DuplicatesOperation
    from whorl.operations.index_delete_simhash_options import DeleteOperation as DeleteOperation
    from whorl.operations.index_delete_simhash_options import IndexOperation as IndexOperation
    from whorl.operations.index_delete_simhash_options import SimhashOperation as SimhashOperation
    from whorl.operations.option_declaration import FRONT_ENDS as FRONT_ENDS
    from whorl.operations.option_declaration import MAX_ROWS as MAX_ROWS
    from whorl.operations.option_declaration import MAX_START as MAX_START
    from whorl.operations.option_declaration import QUERY_SCHEMA as QUERY_SCHEMA
    from whorl.operations.option_declaration import FrontEnd as FrontEnd
    from whorl.operations.option_declaration import OptionField as OptionField
    from whorl.operations.option_declaration import changed_options as changed_options
    from whorl.operations.option_declaration import operation_of as operation_of
    from whorl.operations.option_declaration import options_of as options_of
    from whorl.operations.option_declaration import require_bounds as require_bounds
    from whorl.operations.option_declaration import require_json_type as require_json_type
    from whorl.operations.search_similar_compare_options import Boilerplate as Boilerplate
    from whorl.operations.search_similar_compare_options import Columns as Columns
    from whorl.operations.search_similar_compare_options import CommonOptions as CommonOptions
    from whorl.operations.search_similar_compare_options import CompareOperation as CompareOperation
    from whorl.operations.search_similar_compare_options import ExplainOperation as ExplainOperation
    from whorl.operations.search_similar_compare_options import IgnorableBoilerplate as IgnorableBoilerplate
    from whorl.operations.search_similar_compare_options import Paging as Paging
    from whorl.operations.search_similar_compare_options import QueryPlan as QueryPlan
    from whorl.operations.search_similar_compare_options import Reading as Reading
    from whorl.operations.search_similar_compare_options import SearchOperation as SearchOperation
    from whorl.operations.search_similar_compare_options import SimilarOperation as SimilarOperation
    from whorl.operations.sources_and_verify_options import SourcesOperation as SourcesOperation
    from whorl.operations.sources_and_verify_options import VerifyOperation as VerifyOperation

__getattr__, __all__ = lazily(__name__)


def all_operations() -> tuple[type[Any], ...]:
    """Return the classes of all operations, in the order of the documentation; this imports all of them."""
    names = ("Similar", "Search", "Explain", "Sources", "Verify", "Compare", "Duplicates", "Index", "Delete", "Simhash")
    return tuple(__getattr__(f"{name}Operation") for name in names)
