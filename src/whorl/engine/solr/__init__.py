"""Engine for Solr. No other package contains Solr syntax."""
