// RUN: gantry-opt %s --gantry-lower-to-plan -verify-diagnostics

// Devices come from the topology.
// expected-error @below {{the module has no topology}}
module {
}
