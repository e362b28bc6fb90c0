"""Engine for Solr; no other package contains Solr syntax."""
