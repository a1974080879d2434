"""Routes of access: ``me``, and signing in with a token."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request, Response

from clientscope.api.access import Login, Me
from clientscope.api.common import ApiProblem
from sinks.dashboard.http.access import Access, Visitor, visitor


def routes(access: Access, external_url: str | None) -> APIRouter:
    """The resources under ``/api/v1``; these need no authentication."""
    router = APIRouter()

    @router.get("/me")
    def me(who: Annotated[Visitor, Depends(visitor)]) -> Me:
        """The current user; none before signing in."""
        url = external_url if who.role else None
        return Me(name=who.name, role=who.role, authentication=access.authentication, external_url=url)

    @router.post(
        "/login",
        status_code=204,
        responses={401: {"model": ApiProblem, "description": "no such token"}, 429: {"model": ApiProblem, "description": "too often"}},
    )
    def login(asked: Login, request: Request) -> Response:
        """Exchanges a token for a cookie that scripts can't read."""
        response = Response(status_code=204)
        if not access.login(asked.token.get_secret_value(), request, response):
            raise HTTPException(401, "invalid token")
        return response

    @router.post("/logout", status_code=204)
    def logout(request: Request) -> Response:
        """Ends the session, and forgets the cookie."""
        response = Response(status_code=204)
        access.logout(request, response)
        return response

    return router
