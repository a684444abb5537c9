"""Lustre: its driver, its layouts, and the readers of lfs and lctl. Only this folder has Lustre's words."""
