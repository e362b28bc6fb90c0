"""Engine for OpenSearch and Elasticsearch. whorl itself makes the tokens, so the cluster needs no plug-in."""
