// RUN: gantry-opt %s --gantry-check-mirrors --verify-diagnostics
// Assignments that are the same on every replica, or may differ. Each of them is refused in
// check-mirrors-invalid when one thing about it is another.

gantry.variable @w = dense<0.5> : tensor<f32>
gantry.variable local @own = dense<1.0> : tensor<f32>
gantry.variable @steps = dense<0> : tensor<i64>

// The sum of all replicas' gradients, each of a mean that is seeded by the share.
func.func @step(%x: tensor<6xf32>, %one: tensor<i64>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %w = gantry.read @w : tensor<f32>
    %s = gantry.share : tensor<f32>
    %g:2 = gantry.gradient (%w, %s) seeds 1 : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    ^bb0(%b: tensor<f32>):
      %0 = gantry.mul %a, %b : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
      %1 = gantry.reduce_mean %0 {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
      gantry.yield %1 : tensor<f32>
    }
    %r = gantry.all_reduce sum %g#1 : (tensor<f32>) -> tensor<f32>
    gantry.assign_add @w, %r : tensor<f32>
    gantry.assign_add @steps, %one : tensor<i64>
    gantry.assign @own, %g#1 : tensor<f32>
    gantry.yield
  }
  return
}

// One replica has one mind, and outside of replicas all mirrors get the value.
func.func @one(%x: tensor<6xf32>, %v: tensor<f32>) {
  gantry.replicate (%x) on ["GPU:0"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    gantry.assign @w, %s : tensor<f32>
    gantry.yield
  }
  gantry.assign @w, %v : tensor<f32>
  return
}

// What an all-reduce gives each device is the same, also where it stands in front of the replicas.
func.func @reduced_outside(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>) {
  %s:3 = gantry.all_reduce sum tree %a, %b, %c on ["GPU:0", "GPU:0", "GPU:1"] : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  gantry.replicate (%s#0, %s#2) on ["GPU:0", "GPU:1"] takes [per_replica] gives [] : (tensor<f32>, tensor<f32>) -> () {
  ^bb0(%own: tensor<f32>):
    gantry.assign @w, %own : tensor<f32>
    gantry.yield
  }
  return
}

// So is what the parts of a batch have in common.
func.func @parts(%x: tensor<6xf32>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] parts 3 takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %0 = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %s = gantry.all_reduce sum %0 : (tensor<f32>) -> tensor<f32>
    gantry.assign @w, %s : tensor<f32>
    gantry.yield
  }
  return
}
