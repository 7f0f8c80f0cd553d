# The lab of scripts/lab/incast.yaml.
pfcswitch lab up scripts/lab/incast.yaml
