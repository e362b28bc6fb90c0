"""Logins and signatures are removed from addresses; everything else stays."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from whorl.ingest.redact_addresses import redact_address, redact_message

SHOWN = {
    "https://ann:s3cr3t@host/doc.txt": "https://host/doc.txt",
    "https://token@host:8080/doc.txt": "https://host:8080/doc.txt",
    "https://ann:a/b?c#d@e@host/doc.txt": "https://host/doc.txt",
    "s3://KEY:SE/CR+ET=@bucket/doc.txt": "s3://bucket/doc.txt",
    "https://b.s3.amazonaws.com/d.txt?versionId=7&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=A%2F1%2Fs3&"
    "X-Amz-Date=1&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Security-Token=T&X-Amz-Signature=S": (
        "https://b.s3.amazonaws.com/d.txt?versionId=7"
    ),
    "https://storage.googleapis.com/b/d.txt?X-Goog-Signature=S&X-Goog-Date=1": "https://storage.googleapis.com/b/d.txt",
    "https://storage.googleapis.com/b/d.txt?GoogleAccessId=A&Expires=1&Signature=S": (
        "https://storage.googleapis.com/b/d.txt"
    ),
    "https://a.blob.core.windows.net/c/d.txt?sv=1&st=2&se=3&sr=b&sp=r&sig=S&snapshot=4": (
        "https://a.blob.core.windows.net/c/d.txt?snapshot=4"
    ),
    "https://cdn/d.txt?Expires=1&Signature=S&Key-Pair-Id=K&Policy=P": "https://cdn/d.txt",
    "https://host/view?page=2&access_token=T#part": "https://host/view?page=2#part",
    "https://host/view?%74oken=T;id=3": "https://host/view?id=3",
    "https://host/view#id_token=T": "https://host/view",
    "https://host/alfresco?alf_ticket=TICKET_1&id=3": "https://host/alfresco?id=3",
    "https://host/a;jsessionid=S?id=3": "https://host/a?id=3",
    "https://host/a?PHPSESSID=S&sessid=S&id=3": "https://host/a?id=3",
    "https://host/a?accesskey=S&accessKey=S&authkey=S&id=3": "https://host/a?id=3",
    "https://host/a?temp_url_sig=S&temp_url_expires=1&id=3": "https://host/a?id=3",
    "https://host/a?hdnea=exp=1~acl=/*~hmac=S&id=3": "https://host/a?id=3",
    "https://host/a?__token__=exp=1~hmac=S&token[]=S&token[0]=S&id=3": "https://host/a?id=3",
    "https://host/a?tempauth=S&otp=S&pw=S&bearer=S&rlkey=S&id=3": "https://host/a?id=3",
    "https://host/a?assertion=S&SAMLResponse=S&id=3": "https://host/a?id=3",
    "https://host/a?Signature%20=S&id=3": "https://host/a?id=3",
    "zip://a/b.csv::https://ann:s3cr3t@host/c.zip?sig=S&page=1": "zip://a/b.csv::https://host/c.zip?page=1",
    "simplecache::https://ann:s3cr3t@host/c.csv": "simplecache::https://host/c.csv",
}
#: Addresses without credentials.
UNCHANGED = (
    "https://host/@scope/package@1.2/doc.txt",
    "https://host:8080/a@b.txt",
    "https://[::1]:80/a@b.txt",
    "https://host/view?expires=2030&policy=open&se=1&monkey=2&design=3",
    "https://host/view?key",
    "https://host/view?tokens=2&tokenizer=icu&sessions=3&power=4&keyboard=5",
    "https://host/a;version=2/b",
    "abfs://container@account.dfs.core.windows.net/doc.txt",
    "github://owner:repository@main/doc.txt",
    "hf://datasets/name/set@main/train.parquet",
    "zip://a.csv::file:///data/b.zip",
    "/home/ann@host/a?b#c.txt",
)


@pytest.mark.parametrize(("address", "shown"), SHOWN.items())
def test_credentials_are_removed(address: str, shown: str) -> None:
    """
    Credentials are removed from an address alone and within a message.
    """
    assert redact_address(address) == shown
    assert redact_address(shown) == shown
    assert redact_message(f"no answer from '{address}': refused", address) == f"no answer from '{shown}': refused"


@pytest.mark.parametrize("address", UNCHANGED)
def test_other_addresses_stay(address: str) -> None:
    """
    Addresses without credentials stay unchanged: they become ids, so a needless removal could merge two ids.
    """
    assert redact_address(address) == address
    assert redact_message(f"see {address} (there)") == f"see {address} (there)"


@pytest.mark.parametrize("separator", [",", ";", "|", ", "])
def test_each_address_of_a_list_loses_its_login(separator: str) -> None:
    """
    Addresses that only a separator divides, as in a list of servers, all lose their logins.
    """
    given, shown = (
        separator.join(f"http://{login}host{number}/a,b" for number in range(3)) for login in ("ann:pw@", "")
    )
    assert redact_message(f"none of {given}: refused") == f"none of {shown}: refused"


SECRETS = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), max_size=12).map("Zq7".__add__)
PARAMETERS = (
    *(
        "X-Amz-Signature",
        "x-amz-security-token",
        "X-Goog-Credential",
        "sig",
        "Signature",
        "token",
        "access_token",
        "refresh-token",
    ),
    *("key", "api_key", "apiKey", "AWSAccessKeyId", "client_secret", "password", "auth", "ticket", "sessionid", "jwt"),
)


@example("http", "Zq7@#", "password", "")
@example("http", "Zq7@/?@", "password", "?page=1")
@given(
    st.sampled_from(("http", "https", "s3", "gs", "ftp", "sftp", "simplecache::https", "zip://a.csv::https")),
    SECRETS,
    st.sampled_from(("user", "password", "quoted", *PARAMETERS)),
    st.sampled_from(("", "?page=1", "?page=1&size=2")),
)
def test_no_secret_stays_in_an_address_or_a_message(scheme: str, secret: str, where: str, query: str) -> None:
    """
    A secret at any place of an address appears neither in the public address nor in the public text of a message.
    """
    if where in ("user", "password", "quoted"):
        spelled = quote(secret, safe="") if where == "quoted" else secret
        login = quote(secret, safe="") if where == "user" else f"ann:{spelled}"
        address = f"{scheme}://{login}@host/folder/doc.txt{query}"
    else:
        # Applications quote the whole value.
        spelled = quote(secret, safe="")
        address = f"{scheme}://host/folder/doc.txt{query}{'&' if query else '?'}{where}={spelled}&last=1"
    messages = (
        f"403, message='Forbidden', url='{address}'",
        f"cannot log in with {secret}",
        f"{address} and {spelled}",
    )
    for shown in (redact_address(address), *(redact_message(message, address) for message in messages)):
        assert "Zq7" not in shown, shown
    assert redact_address(address).startswith(f"{scheme}://host/folder/doc.txt")
