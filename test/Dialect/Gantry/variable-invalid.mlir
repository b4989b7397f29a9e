// RUN: gantry-opt %s --split-input-file --verify-diagnostics

func.func @none() -> tensor<4xf32> {
  // expected-error @below {{'gantry.read' op uses '@w', which is no variable; the module has none; declare it with gantry.variable}}
  %0 = gantry.read @w : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

gantry.variable @v = dense<0.0> : tensor<4xf32>
gantry.variable @step = dense<0> : tensor<i64>
func.func @other(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.assign' op uses '@w', which is no variable; the variables are '@v', '@step'}}
  gantry.assign @w, %x : tensor<4xf32>
  return
}

// -----

gantry.variable @w = dense<0.0> : tensor<4xf32>
func.func @type(%x: tensor<2xf32>) {
  // expected-error @below {{'gantry.assign_add' op '@w' is 'tensor<4xf32>', used as 'tensor<2xf32>'}}
  gantry.assign_add @w, %x : tensor<2xf32>
  return
}

// -----

func.func @input_mode(%x: tensor<6xf32>) {
  // expected-error @below {{'gantry.replicate' op 'gather 0' is no mode of an input; these are split N, broadcast, per_replica}}
  gantry.replicate (%x) on ["GPU:0"] takes [gather 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<6xf32>):
    gantry.yield
  }
  return
}

// -----

func.func @output_mode(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @below {{'gantry.replicate' op 'broadcast' is no mode of an output; these are gather N, sum, mean, same, per_replica}}
  %0 = gantry.replicate (%x) on ["GPU:0"] takes [broadcast] gives [broadcast] : (tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6xf32>):
    gantry.yield %a : tensor<6xf32>
  }
  return %0 : tensor<6xf32>
}

// -----

func.func @mode(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @below {{custom op 'gantry.replicate' replica mode 'max' is not known; known are split N, broadcast, per_replica, gather N, sum, mean, same}}
  %0 = gantry.replicate (%x) on ["GPU:0"] takes [broadcast] gives [max] : (tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6xf32>):
    gantry.yield %a : tensor<6xf32>
  }
  return %0 : tensor<6xf32>
}

// -----

func.func @axis(%x: tensor<6xf32>) {
  // expected-error @below {{'gantry.replicate' op axis 1 of input 0 is outside of 'tensor<6xf32>'}}
  gantry.replicate (%x) on ["GPU:0"] takes [split 1] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<6xf32>):
    gantry.yield
  }
  return
}

// -----

func.func @missing(%x: tensor<6xf32>) {
  // expected-error @below {{'gantry.replicate' op input 0 (per_replica) has no value}}
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [per_replica] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<6xf32>):
    gantry.yield
  }
  return
}

// -----

func.func @weights(%x: tensor<6xf32>) {
  // expected-error @below {{'gantry.replicate' op has 1 weights for 2 devices}}
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] weights [1] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    gantry.yield
  }
  return
}

// -----

func.func @zero(%x: tensor<6xf32>) {
  // expected-error @below {{'gantry.replicate' op has no weight above 0}}
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] weights [0, 0] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    gantry.yield
  }
  return
}

// -----

func.func @kind(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @below {{custom op 'gantry.all_reduce' kind 'max' is not known; known are sum, mean}}
  %0 = gantry.all_reduce max %x on ["GPU:0"] : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

func.func @alone(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @below {{'gantry.all_reduce' op outside of gantry.replicate needs devices, one for each value}}
  %0 = gantry.all_reduce sum %x : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// expected-error @below {{'gantry.variable' op '@w' is central and local; replicas share it, or each has its own}}
gantry.variable central local @w = dense<0.0> : tensor<4xf32>

// -----

func.func @share() {
  // expected-error @below {{'gantry.share' op is a scalar tensor<f32>, got 'tensor<4xf32>'}}
  %0 = "gantry.share"() : () -> tensor<4xf32>
  return
}

// -----

func.func @parts(%x: tensor<6xf32>) {
  // expected-error @below {{'gantry.replicate' op cuts the batch into 65 parts; it can be 1 to 64}}
  gantry.replicate (%x) on ["GPU:0"] parts 65 takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    gantry.yield
  }
  return
}

// -----

func.func @tree(%x: tensor<6xf32>) {
  gantry.replicate (%x) on ["GPU:0"] parts 2 takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    // expected-error @below {{'gantry.all_reduce' op in a replicated region adds in a tree where that has parts; leave 'tree' out}}
    %0 = gantry.all_reduce sum tree %a : (tensor<?xf32>) -> tensor<?xf32>
    gantry.yield
  }
  return
}
