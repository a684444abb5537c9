"""One function a validity rule; the t interval and the stopping rule."""
