"""What to give to spark-submit: the duplicates among the documents that its arguments name; --help tells more."""

from whorl.duplicates.spark.job import main

if __name__ == "__main__":
    main()
