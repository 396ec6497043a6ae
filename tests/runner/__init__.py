"""What tests/run is made of: parts and their jobs, how many run at a time, what is run again."""
