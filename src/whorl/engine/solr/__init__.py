"""All that is particular to Solr; no other package spells its syntax."""
