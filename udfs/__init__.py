"""Arrow kernels: pure functions, Arrow arrays in and out, a whole batch at a time.  No Spark session, no I/O.

decode      bytes of a topic's records -> columns, or the reason why not
pushes      decoded pushes, redacted, with their settings laid flat
counts      the counts that connection records carry
evidence    what may be told of bytes that are no record
facts       numbers about each decoded record
expectations   what no decoded record may be, looked at in every row
sensitive   which settings may not be written down
applications   which application a client belongs to
rules/      one file per rule, and the batch of typed columns that they judge
results     what all rules say of each push
json_text   columns as JSON
distinct    the rows of a matrix that are alike, once
"""
