// RUN: gantry-opt %s --gantry-check-collectives --verify-diagnostics
// Conditions that are the same on every replica. Each of them is refused in check-collectives-invalid
// when one thing about it is another.

gantry.variable @rounds = dense<3> : tensor<i64>
gantry.variable @loss = dense<1.0> : tensor<f32>
gantry.variable @own = dense<1.0> : tensor<f32>

// A counter, up to what a mirrored variable says.
func.func @counter(%x: tensor<6xf32>, %zero: tensor<i64>, %one: tensor<i64>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %n = gantry.read @rounds : tensor<i64>
    %y:2 = gantry.while (%zero, %s) : (tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>) {
    ^bb0(%i: tensor<i64>, %v: tensor<f32>):
      %c = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      gantry.yield %c : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %v: tensor<f32>):
      %r = gantry.all_reduce sum %v : (tensor<f32>) -> tensor<f32>
      %j = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %j, %r : tensor<i64>, tensor<f32>
    }
    gantry.assign @own, %s : tensor<f32>
    gantry.assign @rounds, %y#0 : tensor<i64>
    gantry.yield
  }
  return
}

// What was reduced, also over a variable, and one value that each replica is given.
func.func @reduced(%x: tensor<6xf32>, %b: tensor<f32>, %limit: tensor<f32>) {
  gantry.replicate (%x, %b, %limit, %limit) on ["GPU:0", "GPU:1"] takes [split 0, broadcast, per_replica] gives []
      : (tensor<6xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> () {
  ^bb0(%a: tensor<?xf32>, %c: tensor<f32>, %l: tensor<f32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %r = gantry.all_reduce sum %s : (tensor<f32>) -> tensor<f32>
    gantry.assign @loss, %r : tensor<f32>
    %w = gantry.read @loss : tensor<f32>
    %0 = gantry.add %w, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %1 = gantry.compare lt, %0, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>
    gantry.if %1 {
      %2 = gantry.all_reduce sum %s : (tensor<f32>) -> tensor<f32>
      gantry.assign @loss, %2 : tensor<f32>
      gantry.yield
    } else {
      gantry.yield
    } : tensor<i1>
    gantry.yield
  }
  return
}

// Replicas may go apart where no collective is.
func.func @apart(%x: tensor<6xf32>, %l: tensor<f32>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %c = gantry.compare lt, %s, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = gantry.if %c -> (tensor<f32>) {
      gantry.yield %s : tensor<f32>
    } else {
      gantry.yield %l : tensor<f32>
    } : tensor<i1>
    %2 = gantry.all_reduce sum %1 : (tensor<f32>) -> tensor<f32>
    gantry.yield
  }
  return
}

// One replica is always of one mind.
func.func @one(%x: tensor<6xf32>, %l: tensor<f32>) {
  gantry.replicate (%x) on ["GPU:0"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %c = gantry.compare lt, %s, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>
    gantry.if %c {
      %2 = gantry.all_reduce sum %s : (tensor<f32>) -> tensor<f32>
      gantry.yield
    } else {
      gantry.yield
    } : tensor<i1>
    gantry.yield
  }
  return
}

// What was added up has no share any more, and what has none may be averaged.
func.func @shares(%x: tensor<6xf32>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.share : tensor<f32>
    %0 = gantry.reduce_mean %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %1 = gantry.mul %0, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = gantry.all_reduce sum %1 : (tensor<f32>) -> tensor<f32>
    %3 = gantry.all_reduce mean %2 : (tensor<f32>) -> tensor<f32>
    %4 = gantry.all_reduce mean %0 : (tensor<f32>) -> tensor<f32>
    gantry.yield
  }
  return
}
