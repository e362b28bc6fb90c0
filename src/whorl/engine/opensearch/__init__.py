"""Engine for OpenSearch and Elasticsearch; whorl makes the tokens, so the cluster does not need a plug-in."""
