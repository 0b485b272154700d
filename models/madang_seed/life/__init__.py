"""The toolkit `life`: how people ask, what its tools answer, what is said of it."""
