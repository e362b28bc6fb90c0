"""The search for duplicates on Spark, in operations of its data frames: as many documents as a cluster has room for."""
