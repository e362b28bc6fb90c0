"""Removes secrets from addresses: logins, tokens, and signatures of presigned URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

#: Names of parameters with secret values, in lower case, with hyphens instead of underscores.
_SECRET = re.compile(
    r"x-(?:amz|goog|oss|tos|obs|cos|bce|ms)-.*"
    r"|sig|.*-sig|sign|.*signature|hmac|.*token[^a-z]*|bearer|jwt|sas|hdne[at]|hdnts|assertion|samlresponse"
    r"|auth|.*-auth|authorization|tempauth|.*credentials?"
    r"|key|.*-key|(?:api|access|auth|rl|resource|secret|session)key|.*accesskeyid|googleaccessid|.*key-id|key-pair-id"
    r"|.*secret.*|.*password|passwd|pwd|pw|pass|passphrase|otp"
    r"|session|.*sess(?:ion)?-?id|sid|ticket|.*-ticket"
)
#: Names of parameters that belong to a signature (CloudFront, Google, Azure). They are removed only together with a
#: secret, because they are harmless without a signature.
_SIGNED_WITH = re.compile(
    r"expires|temp-url-(?:expires|prefix)|policy|s[etpvr]|ses|sip|ske|sk[stv]|skoid|sktid|spr|srt|ss|sdd|saoid|suoid|scid"
)
_SCHEME = r"[a-zA-Z][a-zA-Z0-9+.\-]*"
#: Separator of the addresses in fsspec's chains: `zip://a.csv::https://host/a.zip`.
_LINK = re.compile(rf"::(?={_SCHEME}(?:://|::|$))")
#: The login in an address, up to the last @ before the path. If special characters in the password make the address
#: invalid, the login ends at the last @ of the address. For example, the login of `ann:a/b@host` is `ann:a/b`: `ann:a`
#: cannot be a host with a port, because `a` is not a number. The login of `ann:a@#b@host` is `ann:a@#b`, because no
#: host follows the first @.
_LOGIN = re.compile(
    r"(://)(?:(?>[^/?#]*@)(?![/?#])|[^/?#\[\]]*?:(?!\d*(?:[/?#]|$)).*@|[^/?#]*@)",
    re.DOTALL,
)
#: An address with a name before the @ that is not a login: an Azure container, or a GitHub repository.
_CONTAINER = re.compile(r"(?:abfss?|wasbs?)://[^/?#@:]*@|github://[^/?#@]*@")
#: An address in a message, up to a blank or to a separator before another address.
_IN_TEXT = re.compile(rf"{_SCHEME}://(?:(?![,;|]{_SCHEME}://)\S)*")
#: The parameters and the fragment of an address, and session ids that Java servers append to the path:
#: `/a;jsessionid=1F3A`.
_PARAMETERS = re.compile(r"(?:[?#]|;(?=jsessionid=)).*", re.DOTALL | re.IGNORECASE)
_PARAMETERS_IN_TEXT = re.compile(r"(?:[?#]|;(?=jsessionid=))[^\s\"'<>]*", re.IGNORECASE)
_SEPARATORS = re.compile("([?&#;])")
#: Minimum length of a secret that is replaced anywhere in a message. A shorter one could be part of any word, so it is
#: replaced only inside addresses.
_LEAST_LENGTH = 3


def redact_address(address: str) -> str:
    """Return an address without login, token and signature.

    >>> redact_address("https://ann:secret@host/a.pdf?page=2&X-Amz-Signature=1f3a&X-Amz-Expires=60")
    'https://host/a.pdf?page=2'
    """
    return _PARAMETERS.sub(_public_parameters, "::".join(map(_without_login, _LINK.split(address))))


def redact_message(text: str, *addresses: str) -> str:
    """Remove logins and access keys from addresses in a message, and the secrets of the given addresses everywhere."""
    for address in addresses:
        text = text.replace(address, redact_address(address))
        for secret in sorted(set(_secrets_in(address)), key=len, reverse=True):
            text = text.replace(secret, "…")
    shown = _IN_TEXT.sub(lambda match: "::".join(map(_without_login, _LINK.split(match[0]))), text)
    return _PARAMETERS_IN_TEXT.sub(_public_parameters, shown)


def _without_login(address: str) -> str:
    return address if _CONTAINER.match(address) else _LOGIN.sub(r"\1", address, count=1)


def _public_parameters(match: re.Match[str]) -> str:
    parts = _SEPARATORS.split(match[0])
    pairs = list(zip(parts[1::2], parts[2::2], strict=True))
    is_signed = any(map(_is_secret, parts[2::2]))
    shown, opening = "", ""
    for separator, parameter in pairs:
        opening = separator if separator in "?#" else opening
        if not (is_signed and (_is_secret(parameter) or _SIGNED_WITH.fullmatch(_name(parameter)))):
            shown += (opening or separator) + parameter
            opening = ""
    return shown


def _is_secret(parameter: str) -> bool:
    return "=" in parameter and _SECRET.fullmatch(_name(parameter)) is not None


def _name(parameter: str) -> str:
    return unquote(parameter.partition("=")[0]).strip().lower().replace("_", "-")


def _secrets_in(address: str) -> Iterator[str]:
    """Yield the secrets in an address, both percent-encoded and decoded."""
    for part in _LINK.split(address):
        login = part if _CONTAINER.match(part) else _LOGIN.search(part)
        if isinstance(login, re.Match):
            whole = login[0].removeprefix("://").removesuffix("@")
            yield from _spellings(whole, whole.partition(":")[2])
    for parameter in _SEPARATORS.split(address)[2::2]:
        if _is_secret(parameter):
            yield from _spellings(parameter.partition("=")[2])


def _spellings(*secrets: str) -> Iterator[str]:
    spellings = {spelling for secret in secrets for spelling in (secret, unquote(secret))}
    return (spelling for spelling in spellings if len(spelling) >= _LEAST_LENGTH)
