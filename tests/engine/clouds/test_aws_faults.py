"""What becomes of a stack when the cloud refuses, falls silent, or the provider is killed.

These are statements about the real provider, as far as they are known: see `clouds.provider` and the tables.
"""

import pulumi
import pytest
from pulumi import automation
from pulumi_aws import ec2, iam

from tests.engine.clouds.conftest import aws_provider
from tests.engine.clouds.test_aws_lifecycle import changed

TRUST = '{"Version": "2012-10-17", "Statement": []}'


def network(dns=True):
    def program():
        opts = pulumi.ResourceOptions(provider=aws_provider())
        vpc = ec2.Vpc("vpc", cidr_block="10.0.0.0/16", enable_dns_hostnames=dns, opts=opts)
        ec2.Subnet("subnet", vpc_id=vpc.id, cidr_block="10.0.1.0/24", opts=opts)

    return program


def addresses():
    opts = pulumi.ResourceOptions(provider=aws_provider())
    ec2.Eip("address", domain="vpc", opts=opts)


def roles():
    opts = pulumi.ResourceOptions(provider=aws_provider())
    iam.Role("role", name="role", assume_role_policy=TRUST, opts=opts)


def tables():
    opts = pulumi.ResourceOptions(provider=aws_provider())
    vpc = ec2.Vpc("vpc", cidr_block="10.0.0.0/16", opts=opts)
    ec2.RouteTable("table", vpc_id=vpc.id, opts=opts)


def failed(stack, program):
    with pytest.raises(automation.CommandError) as error:
        stack.up(program)
    return str(error.value)


def kinds(cloud):
    return [each.split()[0] for each in cloud.left()]


def dns_hostnames(cloud):
    [vpc] = [each.split()[1] for each in cloud.left() if each.startswith("vpc ")]
    asked = {"VpcId": vpc, "Attribute": "enableDnsHostnames"}
    return cloud.ask("ec2:DescribeVpcAttribute", **asked)["EnableDnsHostnames"]["Value"]


def test_a_refused_create_leaves_nothing_and_the_next_up_makes_it(aws, aws_stack):
    aws.refuse(1, "VpcLimitExceeded")
    assert "VpcLimitExceeded" in failed(aws_stack, network())
    assert aws.left() == []
    assert {("create", "vpc"), ("create", "subnet")} <= changed(aws_stack.up(network()))


def test_a_create_that_fails_halfway_is_taken_for_done_until_a_refresh(aws, aws_stack):
    aws.refuse(2)  # DNS host names, after the VPC was made
    assert "ec2:ModifyVpcAttribute" in failed(aws_stack, network())
    assert ("update", "vpc") in changed(aws_stack.up(network()))
    assert not dns_hostnames(aws)
    assert ("update", "vpc") in changed(aws_stack.up(network()))
    assert dns_hostnames(aws)


def test_a_refresh_first_makes_good_what_failed_halfway(aws, aws_stack):
    aws.refuse(2)
    failed(aws_stack, network())
    aws_stack.automation.refresh()
    aws_stack.up(network())
    assert dns_hostnames(aws)


def test_an_update_that_failed_is_taken_for_done_by_the_next_up(aws, aws_stack):
    aws_stack.up(network(dns=False))
    aws.refuse(1)
    failed(aws_stack, network())
    assert ("update", "vpc") in changed(aws_stack.up(network()))
    assert not dns_hostnames(aws)
    assert ("update", "vpc") in changed(aws_stack.up(network()))
    assert dns_hostnames(aws)


def test_an_address_whose_answer_was_lost_leaks_without_an_error(aws, aws_stack):
    aws.lose_answer(1)
    aws_stack.up(addresses)
    assert kinds(aws) == ["address", "address"]
    aws_stack.destroy()
    assert kinds(aws) == ["address"]


def test_a_role_whose_answer_was_lost_is_in_the_way_of_every_later_up(aws, aws_stack):
    aws.lose_answer(1)
    assert "EntityAlreadyExists" in failed(aws_stack, roles)
    assert "EntityAlreadyExists" in failed(aws_stack, roles)
    aws_stack.destroy()
    assert aws.left() == ["role role"]


def test_what_has_a_token_is_made_once_although_the_answer_was_lost(aws, aws_stack):
    aws.lose_answer(2)
    aws_stack.up(tables)
    assert [call.outcome for call in aws.calls if call.operation == "ec2:CreateRouteTable"] == [
        "lost",
        "done",
    ]
    aws_stack.destroy()
    assert aws.left() == []


def test_a_lost_connection_leaves_an_address_that_no_state_knows(aws, aws_stack):
    aws.lose_connection(1)
    assert "connection timed out" in failed(aws_stack, addresses)
    aws_stack.up(addresses)
    aws_stack.destroy()
    assert kinds(aws) == ["address"]


def test_a_lost_connection_after_the_id_is_known_leaves_it_in_the_state(aws, aws_stack):
    aws.lose_connection(2)
    failed(aws_stack, network())
    assert [resource["type"] for resource in state(aws_stack) if resource.get("initErrors")] == [
        "aws:ec2/vpc:Vpc"
    ]
    aws_stack.destroy()
    assert aws.left() == []


def test_a_killed_provider_leaves_what_it_had_asked_for(aws, aws_stack):
    aws.kill_plugin(1)
    failed(aws_stack, network())
    assert [call.outcome for call in aws.calls] == ["killed"]
    assert "vpc" in kinds(aws)
    assert [resource for resource in state(aws_stack) if resource["type"] == "aws:ec2/vpc:Vpc"] == []
    aws_stack.up(network())
    aws_stack.destroy()
    assert kinds(aws).count("vpc") == 1


def test_a_killed_engine_takes_the_provider_along(aws, aws_stack):
    aws.kill_engine(1)
    failed(aws_stack, network())
    asked = len(aws.calls)
    aws_stack.automation.cancel()  # the engine left its lock
    aws_stack.up(network())
    assert aws.calls[asked].operation == "ec2:CreateVpc"
    aws_stack.destroy()
    assert kinds(aws).count("vpc") == 1


def test_a_failed_delete_is_done_by_the_next_destroy(aws, aws_stack):
    aws_stack.up(network())
    aws.refuse(1)
    with pytest.raises(automation.CommandError, match="UnauthorizedOperation"):
        aws_stack.destroy()
    aws_stack.destroy()
    assert aws.left() == []


def test_a_delete_whose_answer_was_lost_is_done(aws, aws_stack):
    aws_stack.up(network())
    aws.lose_answer(1)
    aws_stack.destroy()
    assert aws.left() == []


def test_a_fault_that_never_came_to_pass_is_told(aws, aws_stack):
    aws.refuse(99)
    aws_stack.up(addresses)
    assert aws.heal()
    assert not aws.heal()


def state(stack):
    return stack.automation.export_stack().deployment["resources"]
