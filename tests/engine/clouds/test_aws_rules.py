"""What the simulated account refuses, in a program's inputs and in the order of things."""

import json

import pulumi
import pytest
from pulumi import automation
from pulumi_aws import ec2, eks

from tests.engine.clouds.aws import model
from tests.engine.clouds.aws.cloud import AwsCloud
from tests.engine.clouds.cloud import CloudError
from tests.engine.clouds.conftest import aws_provider

NETWORK = {"CidrBlock": "10.0.0.0/16"}
CLUSTER = {"roleArn": "arn", "resourcesVpcConfig": {}}


def refused(cloud, code, operation, **parameters):
    with pytest.raises(CloudError) as error:
        cloud.execute(operation, parameters)
    assert error.value.code == code
    return str(error.value)


@pytest.fixture
def account():
    """An account without a Kubernetes cluster behind it, where things take no time."""
    return AwsCloud(latency=0)


@pytest.fixture
def vpc(account):
    return account.execute("ec2:CreateVpc", NETWORK)["Vpc"]["VpcId"]


@pytest.fixture
def subnet(account, vpc):
    where = {"VpcId": vpc, "CidrBlock": "10.0.1.0/24", "AvailabilityZone": "eu-central-1a"}
    return account.execute("ec2:CreateSubnet", where)["Subnet"]["SubnetId"]


@pytest.fixture
def gateway(account, vpc):
    id_ = account.execute("ec2:CreateInternetGateway", {})["InternetGateway"]["InternetGatewayId"]
    account.execute("ec2:AttachInternetGateway", {"InternetGatewayId": id_, "VpcId": vpc})
    return id_


@pytest.fixture
def address(account):
    return account.execute("ec2:AllocateAddress", {"Domain": "vpc"})["AllocationId"]


@pytest.fixture
def nat(account, subnet, gateway, address):
    asked = {"SubnetId": subnet, "AllocationId": address}
    id_ = account.execute("ec2:CreateNatGateway", asked)["NatGateway"]["NatGatewayId"]
    account.left()
    return id_


def role(account, service="eks.amazonaws.com", policy="AmazonEKSClusterPolicy"):
    trust = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    name = f"r-{policy}"
    made = account.execute("iam:CreateRole", {"RoleName": name, "AssumeRolePolicyDocument": document})
    arn = f"arn:aws:iam::aws:policy/{policy}"
    account.execute("iam:AttachRolePolicy", {"RoleName": name, "PolicyArn": arn})
    return made["Role"]["Arn"]


class TestInputs:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"vpc_config": {"subnet_ids": ["a"], "subnets": ["b"]}}, "vpcConfig.subnets"),
            ({"vpc_config": {"subnet_ids": "a"}}, "vpcConfig.subnetIds"),
            ({"vpc_config": {}}, "vpcConfig.subnetIds"),
            ({"tags": {"a": 1}}, "tags.a"),
        ],
    )
    def test_a_preview_refuses_what_the_sdk_does_not_declare(self, aws_stack, arguments, said):
        def program():
            opts = pulumi.ResourceOptions(provider=aws_provider())
            right = {"role_arn": "arn", "vpc_config": {"subnet_ids": ["a"]}}
            eks.Cluster("cluster", **{**right, **arguments}, opts=opts)

        with pytest.raises(automation.CommandError) as error:
            aws_stack.preview(program)
        assert said in str(error.value)

    def test_the_configuration_of_a_provider_is_checked_too(self, aws_stack):
        def program():
            aws_provider(default_tags={"tag": {"a": "b"}})

        with pytest.raises(automation.CommandError, match=r"defaultTags\.tag"):
            aws_stack.preview(program)

    def test_amazons_own_model_judges_what_the_sdk_lets_through(self, aws, aws_stack):
        def program():
            opts = pulumi.ResourceOptions(provider=aws_provider())
            ec2.Vpc("vpc", cidr_block="10.0.0.0/16", instance_tenancy="shared", opts=opts)

        with pytest.raises(automation.CommandError, match="is 'shared', not one of"):
            aws_stack.up(program)
        assert aws.left() == []

    @pytest.mark.parametrize(
        ("operation", "parameters", "said"),
        [
            ("ec2:CreateVpc", {"Cidr": "10.0.0.0/16"}, "Unknown parameter"),
            ("ec2:CreateVpc", {"CidrBlock": 10}, "Invalid type"),
            ("ec2:CreateSubnet", {"CidrBlock": "10.0.0.0/16"}, "Missing required parameter"),
            ("ec2:CreateVpc", {"InstanceTenancy": "none"}, "not one of"),
            ("eks:CreateCluster", {**CLUSTER, "name": "n" * 101}, "characters"),
            ("eks:CreateCluster", {**CLUSTER, "name": "a b"}, "does not match"),
            ("kms:ScheduleKeyDeletion", {"KeyId": "k", "PendingWindowInDays": 400}, "more than"),
        ],
    )
    def test_the_model_knows_names_types_enumerations_and_limits(self, operation, parameters, said):
        with pytest.raises(CloudError, match=said):
            model.judge(operation, parameters)

    def test_a_property_that_the_table_makes_nothing_of_is_never_ignored_silently(self, aws_stack):
        def program():
            opts = pulumi.ResourceOptions(provider=aws_provider())
            ec2.Vpc("vpc", cidr_block="10.0.0.0/16", assign_generated_ipv6_cidr_block=True, opts=opts)

        with pytest.raises(automation.CommandError, match="makes nothing of assignGeneratedIpv6"):
            aws_stack.up(program)


class TestNetwork:
    def test_references_must_exist(self, account, subnet):
        nowhere = {"VpcId": "vpc-gone", "CidrBlock": "10.0.1.0/24"}
        refused(account, "InvalidVpcID.NotFound", "ec2:CreateSubnet", **nowhere)
        nothing = {"SubnetId": subnet, "AllocationId": "eipalloc-gone"}
        refused(account, "InvalidAllocationID.NotFound", "ec2:CreateNatGateway", **nothing)

    def test_a_vpc_outlives_what_is_in_it(self, account, vpc, subnet):
        refused(account, "DependencyViolation", "ec2:DeleteVpc", VpcId=vpc)
        account.execute("ec2:DeleteSubnet", {"SubnetId": subnet})
        account.execute("ec2:DeleteVpc", {"VpcId": vpc})
        assert account.left() == []

    def test_a_vpc_outlives_its_internet_gateway(self, account, vpc, gateway):
        refused(account, "DependencyViolation", "ec2:DeleteVpc", VpcId=vpc)
        refused(account, "DependencyViolation", "ec2:DeleteInternetGateway", InternetGatewayId=gateway)

    def test_what_a_nat_gateway_needs_stays_until_it_is_gone(
        self, account, vpc, subnet, gateway, address, nat
    ):
        refused(account, "DependencyViolation", "ec2:DeleteSubnet", SubnetId=subnet)
        refused(account, "InvalidIPAddress.InUse", "ec2:ReleaseAddress", AllocationId=address)
        attached = {"InternetGatewayId": gateway, "VpcId": vpc}
        refused(account, "DependencyViolation", "ec2:DetachInternetGateway", **attached)
        account.latency = 0.05
        account.execute("ec2:DeleteNatGateway", {"NatGatewayId": nat})
        refused(account, "InvalidIPAddress.InUse", "ec2:ReleaseAddress", AllocationId=address)
        account.left()
        account.execute("ec2:ReleaseAddress", {"AllocationId": address})
        account.execute("ec2:DeleteSubnet", {"SubnetId": subnet})

    def test_a_nat_gateway_without_a_way_to_the_internet_fails(self, account, subnet, address):
        made = account.execute("ec2:CreateNatGateway", {"SubnetId": subnet, "AllocationId": address})
        account.left()
        which = {"NatGatewayIds": [made["NatGateway"]["NatGatewayId"]]}
        [gateway] = account.execute("ec2:DescribeNatGateways", which)["NatGateways"]
        assert gateway["State"] == "failed"

    def test_an_address_serves_one_gateway(self, account, subnet, address, nat):
        again = {"SubnetId": subnet, "AllocationId": address}
        refused(account, "Resource.AlreadyAssociated", "ec2:CreateNatGateway", **again)

    def test_routes_lead_to_gateways_of_the_same_vpc(self, account, vpc):
        table = account.execute("ec2:CreateRouteTable", {"VpcId": vpc})["RouteTable"]["RouteTableId"]
        elsewhere = account.execute("ec2:CreateInternetGateway", {})["InternetGateway"]["InternetGatewayId"]
        route = {"RouteTableId": table, "DestinationCidrBlock": "0.0.0.0/0"}
        refused(account, "InvalidParameterValue", "ec2:CreateRoute", **route, GatewayId=elsewhere)
        refused(account, "InvalidNatGatewayID.NotFound", "ec2:CreateRoute", **route, NatGatewayId="nat-gone")

    def test_a_subnet_has_one_route_table_which_stays_while_it_does(self, account, vpc, subnet):
        table = account.execute("ec2:CreateRouteTable", {"VpcId": vpc})["RouteTable"]["RouteTableId"]
        pair = {"RouteTableId": table, "SubnetId": subnet}
        account.execute("ec2:AssociateRouteTable", pair)
        refused(account, "Resource.AlreadyAssociated", "ec2:AssociateRouteTable", **pair)
        refused(account, "DependencyViolation", "ec2:DeleteRouteTable", RouteTableId=table)


class TestOthers:
    def test_a_role_outlives_its_policies(self, account):
        name = role(account).rpartition("/")[2]
        refused(account, "DeleteConflict", "iam:DeleteRole", RoleName=name)

    def test_names_are_unique(self, account):
        role(account)
        document = json.dumps({"Version": "2012-10-17", "Statement": []})
        again = {"RoleName": "r-AmazonEKSClusterPolicy", "AssumeRolePolicyDocument": document}
        refused(account, "EntityAlreadyExists", "iam:CreateRole", **again)
        account.execute("logs:CreateLogGroup", {"logGroupName": "a"})
        refused(account, "ResourceAlreadyExistsException", "logs:CreateLogGroup", logGroupName="a")

    def test_policies_are_documents_and_managed_ones_exist(self, account):
        broken = {"RoleName": "r", "AssumeRolePolicyDocument": "{"}
        refused(account, "MalformedPolicyDocument", "iam:CreateRole", **broken)
        name = role(account).rpartition("/")[2]
        nothing = {"RoleName": name, "PolicyArn": "arn:aws:iam::aws:policy/AmazonNothing"}
        refused(account, "NoSuchEntity", "iam:AttachRolePolicy", **nothing)

    def test_a_log_groups_key_must_let_the_service_use_it(self, account):
        key = account.execute("kms:CreateKey", {})["KeyMetadata"]["Arn"]
        refused(account, "InvalidParameterException", "logs:CreateLogGroup", logGroupName="a", kmsKeyId=key)

    def test_a_key_is_only_scheduled_for_deletion(self, account):
        key = account.execute("kms:CreateKey", {})["KeyMetadata"]["KeyId"]
        account.execute("kms:ScheduleKeyDeletion", {"KeyId": key, "PendingWindowInDays": 7})
        state = account.execute("kms:DescribeKey", {"KeyId": key})["KeyMetadata"]["KeyState"]
        assert state == "PendingDeletion"
        assert account.left() == []


class TestEks:
    @pytest.fixture
    def asked(self, account, vpc, subnet):
        where = {"VpcId": vpc, "CidrBlock": "10.0.2.0/24", "AvailabilityZone": "eu-central-1b"}
        other = account.execute("ec2:CreateSubnet", where)["Subnet"]["SubnetId"]
        network = {"subnetIds": [subnet, other]}
        access = {"authenticationMode": "API"}
        return {
            "name": "lab",
            "roleArn": role(account),
            "version": "1.34",
            "resourcesVpcConfig": network,
            "accessConfig": access,
        }

    @pytest.fixture
    def cluster(self, account, asked):
        account.execute("eks:CreateCluster", asked)
        account.left()
        return "lab"

    def group(self, account, asked, **more):
        node_role = role(account, "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy")
        read = "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly"
        name = node_role.rpartition("/")[2]
        account.execute("iam:AttachRolePolicy", {"RoleName": name, "PolicyArn": read})
        subnets = asked["resourcesVpcConfig"]["subnetIds"]
        group = {"clusterName": "lab", "nodegroupName": "n", "nodeRole": node_role, "subnets": subnets}
        return {**group, **more}

    @pytest.mark.parametrize(
        ("wrong", "code"),
        [
            ({"version": "1.10"}, "InvalidParameterException"),
            ({"roleArn": "arn:aws:iam::123456789012:role/nobody"}, "InvalidParameterException"),
            ({"resourcesVpcConfig": {"subnetIds": ["subnet-gone"]}}, "InvalidSubnetID.NotFound"),
        ],
    )
    def test_a_cluster_needs_what_it_names(self, account, asked, wrong, code):
        refused(account, code, "eks:CreateCluster", **{**asked, **wrong})

    def test_a_cluster_needs_two_zones(self, account, asked, subnet):
        asked["resourcesVpcConfig"]["subnetIds"] = [subnet]
        assert "two different AZs" in refused(
            account, "InvalidParameterException", "eks:CreateCluster", **asked
        )

    def test_names_are_unique_in_an_account(self, account, asked, cluster):
        refused(account, "ResourceInUseException", "eks:CreateCluster", **asked)

    def test_a_request_that_is_sent_again_with_its_token_has_the_first_answer(self, account, asked):
        asked["clientRequestToken"] = "once"
        first = account.execute("eks:CreateCluster", asked)
        assert account.execute("eks:CreateCluster", asked) == first

    def test_a_cluster_takes_a_while(self, account, asked):
        account.latency = 0.05
        account.execute("eks:CreateCluster", asked)
        assert account.execute("eks:DescribeCluster", {"name": "lab"})["cluster"]["status"] == "CREATING"
        entry = {"clusterName": "lab", "principalArn": account.caller}
        refused(account, "ResourceInUseException", "eks:CreateAccessEntry", **entry)
        account.left()
        assert account.execute("eks:DescribeCluster", {"name": "lab"})["cluster"]["status"] == "ACTIVE"

    def test_versions_move_one_by_one_and_never_back(self, account, cluster):
        for version in ("1.36", "1.33"):
            refused(
                account, "InvalidParameterException", "eks:UpdateClusterVersion", name="lab", version=version
            )

    def test_its_creator_is_in_already(self, account, cluster):
        entry = {"clusterName": "lab", "principalArn": account.caller}
        refused(account, "ResourceInUseException", "eks:CreateAccessEntry", **entry)

    def test_a_cluster_with_nodes_stays(self, account, asked, cluster):
        account.execute("eks:CreateNodegroup", self.group(account, asked))
        refused(account, "ResourceInUseException", "eks:DeleteCluster", name="lab")

    def test_nodes_that_find_no_way_out_never_join(self, account, asked, cluster):
        account.execute("eks:CreateNodegroup", self.group(account, asked))
        account.left()
        which = {"clusterName": "lab", "nodegroupName": "n"}
        group = account.execute("eks:DescribeNodegroup", which)["nodegroup"]
        assert group["status"] == "CREATE_FAILED"
        assert "no route leads out" in group["health"]["issues"][0]["message"]

    def test_nodes_are_not_newer_than_their_cluster(self, account, asked, cluster):
        newer = self.group(account, asked, version="1.35")
        refused(account, "InvalidParameterException", "eks:CreateNodegroup", **newer)

    def test_without_its_roles_rights_a_cluster_leaves_interfaces_that_keep_the_vpc(
        self, account, asked, cluster, vpc
    ):
        right = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
        account.execute("iam:DetachRolePolicy", {"RoleName": "r-AmazonEKSClusterPolicy", "PolicyArn": right})
        account.execute("eks:DeleteCluster", {"name": "lab"})
        assert any(each.startswith("network-interface") for each in account.left())
        subnet = asked["resourcesVpcConfig"]["subnetIds"][0]
        refused(account, "DependencyViolation", "ec2:DeleteSubnet", SubnetId=subnet)

    def test_the_log_group_of_a_cluster_that_logs_comes_back(self, account, asked):
        asked["logging"] = {"clusterLogging": [{"types": ["api"], "enabled": True}]}
        account.execute("eks:CreateCluster", asked)
        name = "/aws/eks/lab/cluster"
        assert f"log-group {name}" in account.left()
        account.execute("logs:DeleteLogGroup", {"logGroupName": name})
        assert f"log-group {name}" in account.left()

    def test_a_protected_cluster_stays(self, account, asked):
        account.execute("eks:CreateCluster", {**asked, "deletionProtection": True})
        account.left()
        refused(account, "InvalidRequestException", "eks:DeleteCluster", name="lab")
