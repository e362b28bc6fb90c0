"""Engine for OpenSearch and Elasticsearch; whorl makes the tokens, so the cluster needs no plug-in."""
