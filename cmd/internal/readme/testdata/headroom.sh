# Two switches, sA and sB, with 10 km between them; sB fills the link when it is asked to. Both have measured it.
ip netns add sB
ip link add p1 type veth peer name p1 netns sB
ip link set p1 up
ip -n sB link set p1 up
keys='preset: roce
headroom: {interval: 100ms, send_request: on}
lldp: {change_hold: 0s}
ports: {p1: {speed: 1G, cable: 10km}}'
printf 'name: sA\n%s\n' "$keys" >a.yaml
printf 'name: sB\nmetrics: {listen: off}\napi: {socket: %s/b.sock}\n%s\n' "$PWD" "$keys" >b.yaml
pfcswitch run -c a.yaml 2>a.log &
ip netns exec sB pfcswitch run -c b.yaml 2>b.log &
measured() { pfcswitch show headroom -j -s "$1" >seen && grep -q '"measured": {' seen && grep -q '"told": true' seen; }
await measured sA
await measured ./b.sock
