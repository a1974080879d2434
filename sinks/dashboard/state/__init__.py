"""What ``serve`` knows: records of topics (`reader`) become tables (`known`), and tables become what the API answers (`state`)."""
