"""Requests and responses of the JSON API of ``clientscope serve``, as models that both serve and its clients use."""
