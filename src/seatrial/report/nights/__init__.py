"""The nights of a scheduled trial: how they stand, news, changes of level, and their page."""
