"""The engine over OpenSearch and Elasticsearch; the tokens are made here, so the cluster needs no plug-in."""
