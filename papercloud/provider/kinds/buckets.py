"""S3 buckets and the settings that are resources of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from papercloud.provider.account import Account, RefusedError
from papercloud.provider.kind import Call, Kind, Tagging, Written
from papercloud.provider.naming import tags_of
from papercloud.provider.schema import Schema
from papercloud.provider.values import Properties

_HOME: Final = "us-east-1"
"""The region that must not be named as a location."""


@dataclass(frozen=True, kw_only=True)
class Bucket(Kind):
    """A bucket; its tags are written after it."""

    def request(self, account: Account, inputs: Mapping[str, Any]) -> Properties:
        """Name the location; tags are no part of the request."""
        given = {key: value for key, value in inputs.items() if key not in ("tags", "tagsAll")}
        shape = account.model("s3", "CreateBucket").input_shape
        sent = {k: v for k, v in given.items() if k not in self.ours and k != "region"}
        request = self.names.request(sent, shape)
        if account.region != _HOME:
            request["CreateBucketConfiguration"] = {"LocationConstraint": account.region}
        return request

    def identify(self, answer: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
        """Return the name, which is the id."""
        del answer
        return str(inputs["bucket"])

    def complete(self, account: Account, resource_id: str, inputs: Mapping[str, Any]) -> None:
        """Write the tags."""
        tags = {**account.default_tags, **(inputs.get("tags") or {})}
        if tags:
            self.retag(account, resource_id, "", set(), tags)

    def retag(
        self, account: Account, resource_id: str, arn: str, old: set[str], new: Mapping[str, str]
    ) -> None:
        """Tags of a bucket are written as a whole."""
        del arn, old
        if not new:
            account.call("s3", "DeleteBucketTagging", Bucket=resource_id)
            return
        pairs = [{"Key": key, "Value": value} for key, value in new.items()]
        account.call("s3", "PutBucketTagging", Bucket=resource_id, Tagging={"TagSet": pairs})

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Look whether it is there, then for its tags."""
        del state
        if _or_none(account, "HeadBucket", resource_id) is None:
            return None
        answer = _or_none(account, "GetBucketTagging", resource_id) or {}
        return {"Bucket": resource_id, "Tags": tags_of(answer.get("TagSet", []))}

    def outputs(
        self,
        account: Account,
        resource_id: str,
        found: Mapping[str, Any],
        kinds: Mapping[str, Any],
        schema: Schema,
    ) -> Properties:
        """Compose the names that follow from the bucket's."""
        domain = f"{resource_id}.s3.{account.region}.amazonaws.com"
        return {
            **super().outputs(account, resource_id, found, kinds, schema),
            "arn": f"arn:aws:s3:::{resource_id}",
            "bucketDomainName": f"{resource_id}.s3.amazonaws.com",
            "bucketRegionalDomainName": domain,
            "bucketRegion": account.region,
        }

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """Empty it first where the program says so."""
        if state.get("forceDestroy"):
            _empty(account, resource_id)
        super().delete(account, resource_id, state)


@dataclass(frozen=True, kw_only=True)
class OfBucket(Written):
    """A setting of a bucket, whose id is the bucket's."""

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Ask for it; the answer does not name the bucket."""
        found = super().find(account, resource_id, state)
        return {**found, "Bucket": resource_id} if found else None


@dataclass(frozen=True, kw_only=True)
class Versioning(OfBucket):
    """Versioning cannot be taken away, only suspended."""

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """Suspend it."""
        del state
        suspended = {"Status": "Suspended"}
        account.call(
            "s3", "PutBucketVersioning", Bucket=resource_id, VersioningConfiguration=suspended
        )

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """One that was never set, or was suspended by our delete, is none."""
        found = super().find(account, resource_id, state)
        return {"Bucket": resource_id, "VersioningConfiguration": found} if found else None


def _or_none(account: Account, operation: str, bucket: str) -> dict[str, Any] | None:
    try:
        return account.call("s3", operation, Bucket=bucket)
    except RefusedError as error:
        if error.is_gone:
            return None
        raise


def _empty(account: Account, bucket: str) -> None:
    while True:
        answer = account.call("s3", "ListObjectVersions", Bucket=bucket)
        found = answer.get("Versions", []) + answer.get("DeleteMarkers", [])
        if not found:
            return
        objects = [{"Key": item["Key"], "VersionId": item["VersionId"]} for item in found]
        account.call("s3", "DeleteObjects", Bucket=bucket, Delete={"Objects": objects})


BUCKETS: Final[Mapping[str, Kind]] = {
    "aws:s3/bucket:Bucket": Bucket(
        service="s3",
        create_by=Call(operation="CreateBucket"),
        find_by=Call(operation="HeadBucket", by="Bucket"),
        end_by=Call(operation="DeleteBucket", by="Bucket"),
        ours=frozenset({"forceDestroy"}),
        name="bucket",
        lower_name=True,
        prefix="bucketPrefix",
        tagging=Tagging(add="PutBucketTagging", remove="DeleteBucketTagging", by="Bucket"),
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": OfBucket(
        service="s3",
        create_by=Call(operation="PutPublicAccessBlock"),
        find_by=Call(
            operation="GetPublicAccessBlock", by="Bucket", found="PublicAccessBlockConfiguration"
        ),
        end_by=Call(operation="DeletePublicAccessBlock", by="Bucket"),
        flatten="PublicAccessBlockConfiguration",
        ours=frozenset({"skipDestroy"}),
        id_from="bucket",
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": (
        OfBucket(
            service="s3",
            create_by=Call(operation="PutBucketEncryption"),
            find_by=Call(
                operation="GetBucketEncryption",
                by="Bucket",
                found="ServerSideEncryptionConfiguration",
            ),
            end_by=Call(operation="DeleteBucketEncryption", by="Bucket"),
            flatten="ServerSideEncryptionConfiguration",
            id_from="bucket",
        )
    ),
    "aws:s3/bucketVersioning:BucketVersioning": Versioning(
        service="s3",
        create_by=Call(operation="PutBucketVersioning"),
        find_by=Call(operation="GetBucketVersioning", by="Bucket"),
        end_by=None,
        id_from="bucket",
    ),
}
