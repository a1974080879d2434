"""Layers that every request passes: access (`admission`, `access`), headers and bounds (`security`), and the page's files (`assets`)."""
