# Two switches on one machine.
for n in 1 2; do
  printf 'name: leaf%s\npreset: roce\nmetrics: {listen: off}\nports: {eth%s: {}}\n' $n $n >leaf$n.yaml
  pfcswitch run -c leaf$n.yaml 2>leaf$n.log &
  await pfcswitch health -s leaf$n
done
