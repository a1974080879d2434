"""What every request passes: who may ask (`admission`, `access`), headers and bounds (`security`), and the page's own files (`assets`)."""
