"""The nights of a scheduled trial: their state, news, changes of level, and their page."""
