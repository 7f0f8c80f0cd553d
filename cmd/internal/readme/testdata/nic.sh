# This host has eth1; at its other end is h1, with a host NIC of its own, and iperf3.
ip -n h1 addr flush dev eth0
ip netns exec h1 pfcswitch nic --wire eth0 --address 10.0.0.2/24 --name far --metrics off 2>far.log &
ip netns exec h1 iperf3 -s >server.log 2>&1 &
await pfcswitch health -s far
ready() { pfcswitch health -s nic-eth1; }
