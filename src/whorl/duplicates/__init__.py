"""Finds all near-duplicates in a store or among other documents, as pairs and clusters.

A search has these stages:

1. input          read documents from files
2. sketching      hash the shingles of each document; worker_pool does so in several processes
3. sketch_store   store the sketches, in a temporary file or in a folder for the next run
4. prefix_filter  find candidate pairs: documents that share rare hashes; prefix_lengths computes its parameters
5. verification   verify_by_sketches counts the hashes that candidates share; verify_by_texts reads texts if sketches
                  cannot decide; pairs has the result, as arrays
6. all_pairs      run stages 4 and 5, and skip pairs of documents that are already connected
7. clusters       group the pairs; results yields pairs and clusters, retention ranks documents; write_copies_of_files
                  writes copies, and write_cluster_labels writes cluster ids into a store

`run` calls the stages on one machine. The modules of `spark` do the same on a Spark cluster. `remove_common_shingles`
removes text that many documents share before stage 4. `thread_ranges` divides the work of stages 4 and 5 among
threads. `repeated_passages` finds repeated runs of words; `contamination` finds reference texts inside documents.
"""

from typing import TYPE_CHECKING

from whorl.lazy_exports import lazily

if TYPE_CHECKING:
    from whorl.duplicates.contamination import find_in_documents as find_in_documents
    from whorl.duplicates.options import DuplicatesOptions as DuplicatesOptions
    from whorl.duplicates.options import parse_pair_options as parse_pair_options
    from whorl.duplicates.remove_common_shingles import parse_boilerplate_options as parse_boilerplate_options
    from whorl.duplicates.repeated_passages import passages_among as passages_among
    from whorl.duplicates.results import documents_to_remove as documents_to_remove
    from whorl.duplicates.results import with_words as with_words
    from whorl.duplicates.retention import Keep as Keep
    from whorl.duplicates.run import duplicates_among as duplicates_among
    from whorl.duplicates.run import duplicates_in as duplicates_in
    from whorl.duplicates.write_cluster_labels import write_ids as write_ids

__getattr__, __all__ = lazily(__name__)
