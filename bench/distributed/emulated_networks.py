# SPDX-License-Identifier: MIT
"""Compares step times predicted by tyto scale with measured ones: hosts are network namespaces on slow networks.

emulated_networks.py BIN [--networks 500:0,200:0,200:2,50:10] [--ranks 1,2,4] [--layers 4] [--features 512]
                     [--batch 256] [--seconds 3]

BIN holds tyto and distributed_bench. A network is megabits a second of each host and milliseconds from one to another.
`tc` (tbf) limits the rate; delays are those of a relay between the hosts, since few kernels of small machines have
netem. Needs root, ip and tc, and Open MPI, whose processes this program starts through `ip netns exec`.

First `tyto scale --probe` measures each network between two of its hosts. The step of one process that the model takes
is timed on as many processes at once as there are ranks, which average nothing: these hosts share one machine's cores.
A line each: milliseconds of that step, told, and measured, of the median step. Other programs on the machine delay
messages: chrt -f 1 before the command keeps them away."""
import argparse
import array
import fcntl
import heapq
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time

HOSTS = 4
MTU = 9000


def run(*words):
    subprocess.run([str(word) for word in words], check=True)


def without_offload(link):
    """Frames as they are on a cable: with checksums, and no longer than the link takes."""
    with socket.socket() as any_socket:
        for command in (0x17, 0x1F, 0x24):  # ETHTOOL_STXCSUM, _STSO, _SGSO of linux/ethtool.h
            value = array.array("B", struct.pack("II", command, 0))
            request = struct.pack("16sP", link.encode(), value.buffer_info()[0]).ljust(40, b"\0")
            fcntl.ioctl(any_socket, 0x8946, request)  # SIOCETHTOOL


def relay(delay):
    """Hands frames on after so many seconds; runs in the namespace to which all cables lead."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))  # as a network, it waits for no processor
    ports = []
    for host in range(HOSTS):
        port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
        port.bind((f"cable{host}", 0))
        port.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
        ports.append(port)
    port_of, waiting, number = {}, [], 0  # by address
    while True:
        pause = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        for port in select.select(ports, [], [], pause)[0]:
            frame, origin = port.recvfrom(MTU + 100)
            if origin[2] == 4:  # PACKET_OUTGOING: what this program sent
                continue
            port_of[frame[6:12]] = port
            number += 1
            heapq.heappush(waiting, (time.monotonic() + delay, number, frame, port))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, frame, origin = heapq.heappop(waiting)
            known = port_of.get(frame[:6])
            for port in [known] if known else [port for port in ports if port is not origin]:
                port.send(frame)


class Network:
    """Hosts 10.77.0.1 and up, in namespaces of their own."""

    def __init__(self, megabits, delay):
        self.prefix = f"tyto{os.getpid()}"
        self.relay = None
        self.hub = self.prefix + "hub"
        run("ip", "netns", "add", self.hub)
        if delay == 0:
            run("ip", "-n", self.hub, "link", "add", "bridge", "type", "bridge")
            run("ip", "-n", self.hub, "link", "set", "bridge", "mtu", MTU, "up")
        for host in range(HOSTS):
            name = self.prefix + str(host)
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "add", "net", "mtu", MTU, "type", "veth", "peer", f"cable{host}", "netns",
                self.hub)
            run("ip", "-n", self.hub, "link", "set", f"cable{host}", "mtu", MTU, "up")
            if delay == 0:
                run("ip", "-n", self.hub, "link", "set", f"cable{host}", "master", "bridge")
            else:
                run("ip", "netns", "exec", name, sys.executable, __file__, "--without-offload", "net")
            run("ip", "-n", name, "address", "add", f"10.77.0.{host + 1}/24", "dev", "net")
            for link in ("lo", "net"):
                run("ip", "-n", name, "link", "set", link, "up")
            run("tc", "-n", name, "qdisc", "add", "dev", "net", "root", "tbf", "rate", f"{megabits}mbit", "burst",
                "64k", "latency", "400ms")
        if delay != 0:
            self.relay = subprocess.Popen(["ip", "netns", "exec", self.hub, sys.executable, __file__, "--relay",
                                           str(delay * 1e-3)])

    def close(self):
        if self.relay:
            self.relay.kill()
            self.relay.wait()
        for name in [self.hub, *(self.prefix + str(host) for host in range(HOSTS))]:
            subprocess.run(["ip", "netns", "delete", name])


def output_of(command, more={}):
    environment = dict(os.environ, TYTO_THREADS="1", **more)
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout


def launched(network, folder, binaries, ranks, words):
    """The output of so many processes, one a host."""
    agent, hosts = f"{folder}/agent", f"{folder}/hosts"
    with open(agent, "w") as file:
        file.write(f'#!/bin/sh\nhost={network.prefix}$((${{1##*.}} - 1)); shift\n'
                   'exec ip netns exec $host unshare --uts sh -c "hostname $host; $*"\n')
    os.chmod(agent, 0o755)
    with open(hosts, "w") as file:
        file.writelines(f"10.77.0.{host + 1} slots=1\n" for host in range(ranks))
    settings = {"plm_rsh_agent": agent, "btl": "tcp,self", "pml": "ob1", "btl_tcp_if_include": "10.77.0.0/24",
                "oob_tcp_if_include": "10.77.0.0/24"}
    command = ["ip", "netns", "exec", network.prefix + "0", f"{binaries}/tyto", "launch", "--mpi", "openmpi", "-n",
               str(ranks), "--hosts", hosts, *words]
    return output_of(command, {f"OMPI_MCA_{name}": value for name, value in settings.items()})


def step_of(output):
    """The median step in milliseconds."""
    return float(output.split("median")[1])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("binaries")
    arguments.add_argument("--networks", default="500:0,200:0,200:2,50:10")
    arguments.add_argument("--ranks", default="1,2,4")
    for name, value in (("layers", 4), ("features", 512), ("batch", 256), ("seconds", 3)):
        arguments.add_argument(f"--{name}", type=int, default=value)
    given = arguments.parse_args()
    local = [f"{given.binaries}/tyto", "launch", "--mpi", "openmpi", "-n"]
    sizes = given.layers, given.features, given.batch, given.seconds
    bench = [f"{given.binaries}/distributed_bench", *map(str, sizes)]
    print("| Mbit/s | delay ms | latency us | GB/s | ranks | apart ms | told ms | measured ms | told too large by |\n"
          "|---|---|---|---|---|---|---|---|---|", flush=True)
    for megabits, delay in (map(float, network.split(":")) for network in given.networks.split(",")):
        network = Network(megabits, delay)
        try:
            with tempfile.TemporaryDirectory() as folder:
                def on_hosts(ranks, words):
                    return launched(network, folder, given.binaries, ranks, words)

                probed = on_hosts(2, [f"{given.binaries}/tyto", "scale", "--probe"]).split()
                for ranks in map(int, given.ranks.split(",")):
                    step = step_of(output_of(local + [str(ranks), *bench, "apart"]))
                    output = on_hosts(ranks, bench)
                    told, measured = step, step_of(output)
                    if ranks > 1:
                        with open(f"{folder}/report", "w") as file:
                            file.write(output)
                        words = [f"{given.binaries}/tyto", "scale", f"{folder}/report", "--step", str(step), *probed,
                                 "--ranks", str(ranks)]
                        told = float(output_of(words).splitlines()[1].split()[1])
                    print(f"| {megabits:.0f} | {delay:.1f} | {probed[1]} | {probed[3]} | {ranks} | {step:.1f} | "
                          f"{told:.1f} | {measured:.1f} | {100 * (told / measured - 1):+.1f} % |", flush=True)
        finally:
            network.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--relay"]:
        relay(float(sys.argv[2]))
    elif sys.argv[1:2] == ["--without-offload"]:
        without_offload(sys.argv[2])
    else:
        main()
