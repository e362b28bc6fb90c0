"""Finds duplicates in Spark data frames, for collections larger than one machine."""
