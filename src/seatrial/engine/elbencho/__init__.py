"""elbencho as an engine, and the program around each of its processes that writes."""
