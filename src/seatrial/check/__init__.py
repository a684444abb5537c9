"""The ReFrame side: base classes, the @trial decorator, staging."""
