"""State of ``serve``: records of topics (`reader`) become tables (`known`), and tables become answers of the API (`state`)."""
