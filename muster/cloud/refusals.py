"""What AWS answers instead of an answer, in words, with what to do about it."""

from __future__ import annotations

from textwrap import shorten

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
)

from muster.plan.cloud_view import Unread

_DENIED = {
    "AccessDenied",
    "AccessDeniedException",
    "Forbidden",
    "403",
    "UnauthorizedOperation",
    "Client.UnauthorizedOperation",
    "NotAuthorized",
}
_STALE = {
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
_THROTTLED = {
    "RequestLimitExceeded",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "TooManyRequestsException",
}
_PREFIXES = {
    "efs": "elasticfilesystem",
    "service-quotas": "servicequotas",
}
_MESSAGE_CHARACTERS = 300
_LOG_IN = "Log in, as with `aws sso login`, or set AWS_PROFILE."


def action_of(service: str, operation: str) -> str:
    """Return IAM's name of what is asked, as ec2:DescribeSubnets."""
    if (service, operation) == ("s3", "head_bucket"):
        return "s3:ListBucket"
    name = "".join(part.capitalize() for part in operation.split("_"))
    return f"{_PREFIXES.get(service, service)}:{name}"


def code_of(error: ClientError) -> str:
    """Return AWS's own name of an error."""
    return str(error.response.get("Error", {}).get("Code", "unknown"))


def message_of(error: ClientError) -> str:
    """Return what AWS says about an error, on one line that is not too long."""
    return _short(str(error.response.get("Error", {}).get("Message", "")))


def _short(text: str) -> str:
    return shorten(text, _MESSAGE_CHARACTERS, placeholder=" …")


def unread(error: Exception, service: str, operation: str) -> Unread:
    """Say why something was not read, and what lets it be read."""
    action = action_of(service, operation)
    if isinstance(error, ClientError):
        return _refused(error, action)
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return Unread("there are no AWS credentials", _LOG_IN)
    if isinstance(error, TokenRetrievalError):
        return Unread("the AWS login has expired", _LOG_IN)
    if isinstance(error, BotoCoreError):
        what = _short(str(error))
        return Unread(f"{action} got no answer: {what}", "Look at the network, then try again.")
    what = _short(f"{type(error).__name__}: {error}")
    return Unread(f"the answer to {action} was not understood ({what})", "Report this.")


def _refused(error: ClientError, action: str) -> Unread:
    code = code_of(error)
    if code in _DENIED:
        return Unread(f"{action} is denied", f"Allow {action} to the caller.")
    if code in _STALE:
        return Unread(f"AWS does not accept the credentials ({code})", _LOG_IN)
    if code in _THROTTLED:
        return Unread(f"{action} is throttled after all retries", "Try again in a minute.")
    what = f"{action} failed with {code}: {message_of(error)}".rstrip(": ")
    return Unread(what, "Try again; if it stays so, look at what AWS says.")
