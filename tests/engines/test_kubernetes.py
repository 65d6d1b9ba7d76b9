"""The manifests of the documents: checked with Kubeflow's and Kubernetes' models, and their commands run as the pods would."""

import copy
import json
import re
import unittest

import yaml

import engine_runs
from engine_runs import LIMIT_S, MEASURED_STEPS, PAGES, EngineTest
from manifest import problems
from started_ranks import Rank, free_port

try:
    import kubeflow.training.models as models
except ImportError as error:
    models, lacking = None, f"the kubeflow-training package is not whole: {error}"

JOB_NAME_LABEL = "training.kubeflow.org/job-name"


def documents(name):
    return list(yaml.safe_load_all((PAGES / name).read_text()))


def job_of(name):
    return next(document for document in documents(name) if document["kind"] == "PyTorchJob")


def pods_of(job):
    """Each pod's containers and environment as the training operator 1.9 sets it; the master is pod 0."""
    specs, per_pod = job["spec"]["pytorchReplicaSpecs"], int(job["spec"]["nprocPerNode"])
    pods = [(kind, specs[kind]["template"]["spec"]) for kind in ("Master", "Worker") if kind in specs
            for _ in range(specs[kind]["replicas"])]
    master = f"{job['metadata']['name']}-master-0"
    for rank, (_, pod) in enumerate(pods):
        given = {"PYTHONUNBUFFERED": "1", "MASTER_PORT": "23456", "PET_MASTER_PORT": "23456", "MASTER_ADDR": master,
                 "PET_MASTER_ADDR": master, "WORLD_SIZE": str(len(pods) * per_pod), "RANK": str(rank),
                 "PET_NODE_RANK": str(rank), "PET_NPROC_PER_NODE": str(per_pod), "PET_NNODES": str(len(pods))}
        yield pod, {**given, "KUBERNETES_SERVICE_HOST": "10.96.0.1", **own_variables(pod, job)}


def own_variables(pod, job):
    found = {}
    for variable in pod["containers"][0].get("env", ()):
        if "value" in variable:
            found[variable["name"]] = variable["value"]
        else:
            label = re.fullmatch(r"metadata\.labels\['(.*)'\]", variable["valueFrom"]["fieldRef"]["fieldPath"])[1]
            found[variable["name"]] = {JOB_NAME_LABEL: job["metadata"]["name"]}[label]
    return found


class Manifests(unittest.TestCase):
    def setUp(self):
        if models is None:
            engine_runs.lacks(lacking)

    def test_every_key_is_known(self):
        for name in ("pytorchjob.yaml", "pytorchjob-gpus.yaml"):
            for document in documents(name):
                self.assertEqual(problems(models, document), [], name)

    def test_mistakes_are_found(self):
        """Tests the check itself: a mistake that it misses would only be found by the cluster."""
        def broken(change):
            job = copy.deepcopy(job_of("pytorchjob.yaml"))
            change(job["spec"], job["spec"]["pytorchReplicaSpecs"]["Worker"])
            return "\n".join(problems(models, job))

        container = lambda worker: worker["template"]["spec"]["containers"][0]  # noqa: E731
        self.assertIn("spec.nProcPerNode: no such key in KubeflowOrgV1PyTorchJobSpec; did you mean nprocPerNode?",
                      broken(lambda spec, _: spec.update(nProcPerNode="1")))
        self.assertIn("restartpolicy: no such key", broken(lambda _, worker: worker.update(restartpolicy="Never")))
        self.assertIn("commands: no such key in V1Container; did you mean command?",
                      broken(lambda _, worker: container(worker).update(commands=["x"])))
        self.assertIn("replicas: expected int, found '3'", broken(lambda _, worker: worker.update(replicas="3")))
        self.assertIn("nprocPerNode: expected str, found 1", broken(lambda spec, _: spec.update(nprocPerNode=1)))
        self.assertIn("env[1].value: expected str, found 1",
                      broken(lambda _, worker: container(worker)["env"].append({"name": "X", "value": 1})))
        self.assertIn("`name`", broken(lambda _, worker: container(worker).pop("name")))
        self.assertIn("pytorchReplicaSpecs.Workers: expected Master or Worker",
                      broken(lambda spec, worker: spec["pytorchReplicaSpecs"].update(Workers=worker)))
        self.assertIn("expected a list", broken(lambda _, worker: container(worker).update(command="ddpprof")))


class Pods(EngineTest):
    def setUp(self):
        super().setUp()
        scenario = documents("pytorchjob.yaml")[0]["data"]["scenario.yaml"]
        self.scenario.write_text(scenario)

    def start_pods(self, job, *more, **overrides):
        """Each pod's command, and `more`, as a process of this machine; its mounts are this test's folders."""
        port = str(free_port())
        here = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": port}
        for pod, variables in pods_of(job):
            mounts = {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
            self.assertEqual(mounts, {"/scenario", "/results"})
            places = {"/scenario": str(self.path), "/results": str(self.path)}
            command = [re.sub("^(/scenario|/results)", lambda found: places[found[0]], word)
                       for word in pod["containers"][0]["command"]]
            environment = self.environment(**{**variables, **here, **overrides})
            self.ranks.append(Rank(["env", *command, *more], environment))
        return self.ranks

    def expect_pods(self, world_size, started_by, job):
        for pod in self.ranks:
            code, messages = pod.finish(LIMIT_S)
            self.assertEqual(code, 0, messages)
        self.assertIn(f"of {world_size}, started by {started_by}", messages)
        self.assertEqual(MEASURED_STEPS, yaml.safe_load(self.scenario.read_text())["measure"]["steps"])
        self.expect_run(world_size, started_by, job=job, folders=[self.path / "run"])

    def test_one_rank_a_pod(self):
        # Pods are hosts of their own, to which loopback would not lead: only here it does.
        self.start_pods(job_of("pytorchjob.yaml"), "--listen", "127.0.0.1")
        self.expect_pods(4, "kubernetes", "ddpprof")
        starts = [json.loads(path.read_text()) for path in (self.path / "run").glob("attempt-0/rank-*.json")]
        self.assertEqual([start["local_rank"] for start in starts], [0] * 4)

    def test_torchrun_in_each_pod(self):
        self.start_pods(job_of("pytorchjob-gpus.yaml"))
        self.expect_pods(4, "torchrun", "ddpprof-gpus")

    def test_several_ranks_a_pod_without_torchrun_are_refused(self):
        job = job_of("pytorchjob.yaml")
        job["spec"]["nprocPerNode"] = "2"
        for pod in self.start_pods(job):
            code, messages = pod.finish(LIMIT_S)
            self.assertEqual(code, 4, messages)
            self.assertIn("PET_NPROC_PER_NODE=2 requests several ranks in this pod", messages)


if __name__ == "__main__":
    unittest.main()
