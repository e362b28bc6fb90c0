"""Solr engine; no other package contains Solr syntax."""
