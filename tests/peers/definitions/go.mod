module netloom.dev/tests/peers/definitions

go 1.26.0

require github.com/harvester/harvester-network-controller v1.6.0-rc3
