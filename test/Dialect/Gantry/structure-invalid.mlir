// What scopes, copies, control flow and kernels refuse, and the attributes that any op may carry.
// Every text of lib/Dialect/Gantry/IR for them once, in full.

// RUN: gantry-opt %s -split-input-file -verify-diagnostics=only-expected

// A scope asks for a device by its name.
func.func @on() {
  // expected-error @below {{custom op 'gantry.on' device name 'TPU:0', column 1: 'TPU' is not a device type; the types are CPU and GPU}}
  gantry.on "TPU:0" {
  }
  return
}

// -----

// A request softens in one of three ways.
func.func @soft() {
  // expected-error @below {{custom op 'gantry.on' soft 'maybe' is not known; known are strict, prefer, any}}
  gantry.on "GPU:0" soft maybe {
  }
  return
}

// -----

// A scope gives what its body yields.
func.func @on(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.on' op body must yield ('tensor<4xf32>'), yields ('tensor<5xf32>')}}
  %y = gantry.on "CPU:0" -> (tensor<4xf32>) {
    %0 = gantry.concat %x, %x {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %1 = gantry.slice %0 {starts = array<i64: 0>, sizes = array<i64: 5>, steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<5xf32>
    gantry.yield %1 : tensor<5xf32>
  }
  return
}

// -----

// A copy goes to a device, by its name.
func.func @copy(%x: tensor<4xf32>) {
  // expected-error @below {{custom op 'gantry.copy' device name 'GPU:-1', column 5: a negative number; ids count from 0}}
  %y = gantry.copy %x to "GPU:-1" : tensor<4xf32>
  return
}

// -----

// A condition is one truth value.
func.func @if(%c: tensor<1xi1>) {
  // expected-error @below {{'gantry.if' op condition must be a scalar tensor<i1>, got 'tensor<1xi1>'}}
  gantry.if %c {
  } else {
  } : tensor<1xi1>
  return
}

// -----

// Both regions give the results.
func.func @if(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @below {{'gantry.if' op then region must yield ('tensor<4xf32>'), yields ()}}
  %y = gantry.if %c -> (tensor<4xf32>) {
  } else {
    gantry.yield %x : tensor<4xf32>
  } : tensor<i1>
  return
}

// -----

// Both regions give the results.
func.func @if(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @below {{'gantry.if' op else region must yield ('tensor<4xf32>'), yields ('tensor<4xf32>', 'tensor<4xf32>')}}
  %y = gantry.if %c -> (tensor<4xf32>) {
    gantry.yield %x : tensor<4xf32>
  } else {
    gantry.yield %x, %x : tensor<4xf32>, tensor<4xf32>
  } : tensor<i1>
  return
}

// -----

// A loop gives what it carries.
func.func @while(%x: tensor<i64>) {
  // expected-error @below {{'gantry.while' op carries ('tensor<i64>') but gives ('tensor<i32>')}}
  %y = gantry.while (%x) : (tensor<i64>) -> (tensor<i32>) {
  ^bb0(%i: tensor<i64>):
    %c = gantry.constant dense<false> : tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>):
    gantry.yield %i : tensor<i64>
  }
  return
}

// -----

// Regions take what the loop carries.
func.func @while(%x: tensor<i64>) {
  // expected-error @below {{'gantry.while' op regions must take ('tensor<i64>')}}
  %y = gantry.while (%x) : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%i: tensor<i64>):
    %c = gantry.constant dense<false> : tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
    gantry.yield %x : tensor<i64>
  }
  return
}

// -----

// The condition region says whether to go on.
func.func @while(%x: tensor<i64>) {
  // expected-error @below {{'gantry.while' op condition region must yield ('tensor<i1>'), yields ('tensor<i64>')}}
  %y = gantry.while (%x) : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%i: tensor<i64>):
    gantry.yield %i : tensor<i64>
  } do {
  ^bb0(%i: tensor<i64>):
    gantry.yield %i : tensor<i64>
  }
  return
}

// -----

// The body gives the next values.
func.func @while(%x: tensor<i64>) {
  // expected-error @below {{'gantry.while' op body must yield ('tensor<i64>'), yields ('tensor<i1>')}}
  %y = gantry.while (%x) : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%i: tensor<i64>):
    %c = gantry.constant dense<false> : tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>):
    %c = gantry.constant dense<false> : tensor<i1>
    gantry.yield %c : tensor<i1>
  }
  return
}

// -----

// A kernel gives values.
// expected-error @below {{'gantry.kernel' op body must end in gantry.yield}}
gantry.kernel @k {
^bb0(%x: tensor<4xf32>):
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
}

// -----

// Requests are device names, checked when they are read.
func.func @request(%x: tensor<4xf32>) {
  // expected-error @below {{device name '/device:GPU:0/device:GPU:1', column 14: the device is given twice}}
  %0 = gantry.relu %x {gantry.device = #gantry.device<"/device:GPU:0/device:GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A string is no request.
func.func @request(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.relu' op attribute 'gantry.device' must be a #gantry.device<"...">, got "GPU:0"}}
  %0 = gantry.relu %x {gantry.device = "GPU:0"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Names are strings.
func.func @name(%x: tensor<4xf32>) {
  // expected-error @below {{'arith.addf' op attribute 'gantry.name' must be a string, got 7 : i64}}
  %0 = arith.addf %x, %x {gantry.name = 7} : tensor<4xf32>
  return
}

// -----

// A topology lists devices.
// expected-error @below {{'builtin.module' op attribute 'gantry.topology' must be a #gantry.topology<[...]>, got ["CPU:0"]}}
module attributes {gantry.topology = ["CPU:0"]} {
}

// -----

// A device of the topology has a full name.
// expected-error @below {{device 'GPU:*' of the topology needs a type and an id, as in /device:GPU:0}}
module attributes {gantry.topology = #gantry.topology<[<"GPU">]>} {
}

// -----

// expected-error @below {{device 'GPU:1' stands twice in the topology}}
module attributes {gantry.topology = #gantry.topology<[<"/device:GPU:1">, <"/device:GPU:1">]>} {
}

// -----

// A device of the topology has its host.
// expected-error @below {{topology: '/job:localhost/replica:0/task:0/device:GPU:0' has no host: '/job:localhost/replica:0/task:0/device:CPU:0' is missing}}
module attributes {gantry.topology = #gantry.topology<[<"GPU:0">]>} {
}

// -----

// Details: known keys, of the right type, and as many entries as devices.
// expected-error @below {{the details of the topology has the unknown key 'link'; the keys are physical, logical, links, tasks, hosts, network}}
module attributes {gantry.topology = #gantry.topology<[<"CPU:0">], {link = []}>} {
}

// -----

// expected-error @below {{physical[0] of the topology has the unknown key 'memroy'; the keys are name, driver, model, architecture, memory, bandwidth, launch, peak_flops}}
module attributes {gantry.topology = #gantry.topology<[<"CPU:0">], {physical = [{name = "CPU:0", driver = "host", memroy = 1}], logical = [{physical = 0}]}>} {
}

// -----

// expected-error @below {{physical[0] of the topology: 'memory' must be an integer from 0 on, got -1 : i64}}
module attributes {gantry.topology = #gantry.topology<[<"CPU:0">], {physical = [{name = "CPU:0", driver = "host", memory = -1}], logical = [{physical = 0}]}>} {
}

// -----

// expected-error @below {{physical[0] of the topology: 'peak_flops' must be a dictionary of element types with floats from 0 on, got {f8 = 1.000000e+00 : f64}}}
module attributes {gantry.topology = #gantry.topology<[<"CPU:0">], {physical = [{name = "CPU:0", driver = "host", peak_flops = {f8 = 1.0}}], logical = [{physical = 0}]}>} {
}

// -----

// expected-error @below {{physical[0] of the topology: unknown driver 'tpu'; the drivers are host, sim and cuda}}
module attributes {gantry.topology = #gantry.topology<[<"CPU:0">], {physical = [{name = "CPU:0", driver = "tpu"}], logical = [{physical = 0}]}>} {
}

// -----

// expected-error @below {{'physical' of the topology must be a list, got 1 : i64}}
module attributes {gantry.topology = #gantry.topology<[<"CPU:0">], {physical = 1}>} {
}

// -----

// expected-error @below {{links[0] of the topology must be a dictionary, got 1 : i64}}
module attributes {gantry.topology = #gantry.topology<[<"CPU:0">], {physical = [{name = "CPU:0", driver = "host"}], logical = [{physical = 0}], links = [1]}>} {
}

// -----

// expected-error @below {{the topology has 1 devices and details of 2 in 'logical'}}
module attributes {gantry.topology = #gantry.topology<[<"CPU:0">], {physical = [{name = "CPU:0", driver = "host"}], logical = [{physical = 0}, {physical = 0}]}>} {
}

// -----

// What holds for every topology.
// expected-error @below {{topology: the limits on '/job:localhost/replica:0/task:0/physical_device:CPU:0', 101 bytes together, are over its memory of 100 bytes; lower them by 1 byte}}
module attributes {gantry.topology = #gantry.topology<[<"CPU:0">], {physical = [{name = "CPU:0", driver = "host", memory = 100}], logical = [{physical = 0, limit = 101}]}>} {
}

// -----

// Devices stand in order: passes take the first for the host.
// expected-error @below {{topology: '/job:localhost/replica:0/task:0/device:CPU:0' comes after '/job:localhost/replica:0/task:0/device:GPU:0'; devices stand in the order of their names, CPUs first}}
module attributes {gantry.topology = #gantry.topology<[<"GPU:0">, <"CPU:0">]>} {
}
