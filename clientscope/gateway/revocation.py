"""Certificate revocation lists (RFC 5280), checked before they are used.

OpenSSL itself says what is wrong with one only at each handshake, and Python's ssl reads none.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509

from clientscope.errors import SettingsError

_SETTING = "ssl_crl_location"
_PEM = re.compile(rb"-----BEGIN X509 CRL-----.+?-----END X509 CRL-----", re.DOTALL)
_HINT = "fetch the authority's current list, put it there, and send SIGHUP"


def check_crls(path: Path, authorities: Path) -> None:
    """Checks that each authority has one list that is valid now and that it signed.

    Args:
        path: the lists, in PEM.
        authorities: certificates that sign clients', in PEM.

    Raises:
        SettingsError: a list can't be read, has expired or is not yet valid, or an authority has none.
    """
    try:
        lists = [x509.load_pem_x509_crl(found[0]) for found in _PEM.finditer(path.read_bytes())]
        signers = x509.load_pem_x509_certificates(authorities.read_bytes())
    except OSError as error:
        raise SettingsError(f"{_SETTING} {path}: {error.strerror}") from None
    except ValueError:
        raise SettingsError(f"{_SETTING} {path}: not usable as PEM", "openssl crl -inform DER -in list.crl makes PEM of DER") from None
    now = datetime.now(UTC)
    for one in lists:
        whose = one.issuer.rfc4514_string()
        if one.next_update_utc is not None and one.next_update_utc <= now:
            raise SettingsError(f"{_SETTING} {path}: the list of {whose} has expired at {one.next_update_utc.isoformat()}", _HINT)
        if one.last_update_utc > now:
            raise SettingsError(f"{_SETTING} {path}: the list of {whose} is not valid before {one.last_update_utc.isoformat()}", _HINT)
    for signer in signers:
        if not any(_is_by(one, signer) for one in lists):
            raise SettingsError(
                f"{_SETTING} {path}: no list that {signer.subject.rfc4514_string()} has signed, so all its clients would be refused", _HINT
            )


def _is_by(one: Any, signer: Any) -> bool:
    return bool(one.issuer == signer.subject and one.is_signature_valid(signer.public_key()))
