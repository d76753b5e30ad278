"""What people do in the console, done with boto3 against the server under test.

usage: cloud.py VERB REGION [ARGUMENT...]; prints JSON.
"""

import json
import os
import sys
from datetime import datetime, timedelta, timezone

import boto3
from botocore.config import Config


def client(region):
    retries = {"max_attempts": 0}
    return boto3.client("ec2", region_name=region, endpoint_url=os.environ["ENDPOINT"],
                        config=Config(retries=retries, read_timeout=120))


def run(ec2, kind, count="1", each="0"):
    """Run COUNT instances, EACH to a reservation; print their IDs."""
    left, each = int(count), int(each) or int(count)
    made = []
    while left > 0:
        n = min(each, left)
        r = ec2.run_instances(ImageId="ami-12345678", InstanceType=kind, MinCount=n, MaxCount=n)
        made += [i["InstanceId"] for i in r["Instances"]]
        left -= n
    return made


def spot(ec2, kind):
    """Ask for a persistent spot instance."""
    r = ec2.request_spot_instances(InstanceCount=1, Type="persistent",
                                   LaunchSpecification={"ImageId": "ami-12345678", "InstanceType": kind})
    s = r["SpotInstanceRequests"][0]
    return {"instance": s["InstanceId"], "request": s["SpotInstanceRequestId"]}


def spot_requests(ec2):
    return [s["SpotInstanceRequestId"] for s in ec2.describe_spot_instance_requests()["SpotInstanceRequests"]
            if s["State"] in ("open", "active")]


def scaling(ec2):
    return boto3.client("autoscaling", region_name=ec2.meta.region_name, endpoint_url=os.environ["ENDPOINT"])


def group(ec2, name, size):
    """Make an Auto Scaling group; print its members."""
    scaling(ec2).create_launch_configuration(LaunchConfigurationName=name, ImageId="ami-12345678", InstanceType="g5.xlarge")
    scaling(ec2).create_auto_scaling_group(AutoScalingGroupName=name, LaunchConfigurationName=name, MinSize=0, MaxSize=int(size),
                                           DesiredCapacity=int(size), AvailabilityZones=[ec2.meta.region_name + "a"])
    return group_members(ec2, name)


def group_members(ec2, name):
    g = scaling(ec2).describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"][0]
    return [i["InstanceId"] for i in g["Instances"]]


def protect(ec2, instance):
    ec2.modify_instance_attribute(InstanceId=instance, DisableApiTermination={"Value": True})
    return protected(ec2, instance)


def protected(ec2, instance):
    r = ec2.describe_instance_attribute(InstanceId=instance, Attribute="disableApiTermination")
    return r["DisableApiTermination"]["Value"]


def data_volume(ec2, instance, size):
    """Make a volume and attach it; such a one survives the instance."""
    zone = describe(ec2, instance)["Placement"]["AvailabilityZone"]
    v = ec2.create_volume(AvailabilityZone=zone, Size=int(size), VolumeType="gp3")["VolumeId"]
    ec2.attach_volume(VolumeId=v, InstanceId=instance, Device="/dev/sdf")
    return v


def snapshot(ec2, volume):
    """Make a snapshot of a volume."""
    return ec2.create_snapshot(VolumeId=volume)["SnapshotId"]


def image(ec2, instance):
    """Make an image of an instance; print it and its snapshots."""
    i = ec2.create_image(InstanceId=instance, Name="of-" + instance)["ImageId"]
    return {"image": i, "snapshots": [m["Ebs"]["SnapshotId"] for m in ec2.describe_images(ImageIds=[i])["Images"][0]["BlockDeviceMappings"] if "SnapshotId" in m.get("Ebs", {})]}


def template(ec2, image):
    """Make a launch template that starts instances from an image."""
    return ec2.create_launch_template(LaunchTemplateName="of-" + image, LaunchTemplateData={"ImageId": image})["LaunchTemplate"]["LaunchTemplateId"]


def drop_template(ec2, template):
    ec2.delete_launch_template(LaunchTemplateId=template)


def address(ec2, instance=""):
    """Allocate an address, and give it to an instance."""
    a = ec2.allocate_address(Domain="vpc")["AllocationId"]
    if instance:
        ec2.associate_address(AllocationId=a, InstanceId=instance)
    return a


def volumes(ec2):
    return {v["VolumeId"]: v["State"] for v in ec2.describe_volumes()["Volumes"]}


def describe(ec2, instance):
    return ec2.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]


def state(ec2, instance):
    return describe(ec2, instance)["State"]["Name"]


def tags(ec2, instance):
    return {t["Key"]: t["Value"] for t in describe(ec2, instance).get("Tags", [])}


def terminate(ec2, *instances):
    ec2.terminate_instances(InstanceIds=list(instances))


def stop(ec2, instance):
    ec2.stop_instances(InstanceIds=[instance])


def start(ec2, instance):
    ec2.start_instances(InstanceIds=[instance])


def metric(ec2, instance, minutes, *metrics):
    """Write numbers of metrics, each NAME=V,V, one a minute, the last ones MINUTES ago; "-" is none."""
    cloudwatch = boto3.client("cloudwatch", region_name=ec2.meta.region_name, endpoint_url=os.environ["ENDPOINT"])
    now = datetime.now(timezone.utc).replace(second=0, microsecond=0)
    for name, values in (m.split("=") for m in metrics):
        each = values.split(",")
        for i, v in enumerate(each):
            if v != "-":
                at = now - timedelta(minutes=int(minutes) + len(each) - 1 - i)
                cloudwatch.put_metric_data(Namespace="AWS/EC2", MetricData=[
                    {"MetricName": name, "Dimensions": [{"Name": "InstanceId", "Value": instance}], "Timestamp": at, "Value": float(v)}])


if __name__ == "__main__":
    verb, region, *rest = sys.argv[1:]
    json.dump(globals()[verb](client(region), *rest), sys.stdout)
