"""Duplicate search on Spark data frames, for collections larger than one machine."""
