// RUN: gantry-opt %s --split-input-file --gantry-check-collectives --verify-diagnostics

func.func @shard(%x: tensor<6xf32>, %v: tensor<f32>) {
  // expected-note @below {{it is computed from input 0 of the region, which is split 0}}
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    // expected-note @below {{the condition}}
    %c = gantry.compare lt, %s, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
    gantry.if %c {
      // expected-error @below {{'gantry.all_reduce' op is inside of a gantry.if whose condition may differ between the replicas, so that not all of them would take part; compute the condition from what they have in common: constants, broadcast inputs, results of gantry.all_reduce}}
      %r = gantry.all_reduce sum %v : (tensor<f32>) -> tensor<f32>
      gantry.yield
    } else {
      gantry.yield
    } : tensor<i1>
    gantry.yield
  }
  return
}

// -----

func.func @each(%x: tensor<f32>, %v: tensor<f32>) {
  // expected-note @below {{it is computed from input 1 of the region, which is per_replica}}
  gantry.replicate (%x, %x, %v) on ["GPU:0", "GPU:1"] takes [broadcast, per_replica] gives [] : (tensor<f32>, tensor<f32>, tensor<f32>) -> () {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-note @below {{the condition}}
    %c = gantry.compare lt, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    gantry.if %c {
      // expected-error @below {{'gantry.all_reduce' op is inside of a gantry.if whose condition may differ between the replicas, so that not all of them would take part; compute the condition from what they have in common: constants, broadcast inputs, results of gantry.all_reduce}}
      %r = gantry.all_reduce sum %v : (tensor<f32>) -> tensor<f32>
      gantry.yield
    } else {
      gantry.yield
    } : tensor<i1>
    gantry.yield
  }
  return
}

// -----

// The loop's count becomes another one by way of what is carried.
func.func @carried(%x: tensor<6xf32>, %zero: tensor<f32>, %v: tensor<f32>) {
  // expected-note @below {{it is computed from input 0 of the region, which is split 0}}
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %y:2 = gantry.while (%zero, %zero) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    ^bb0(%i: tensor<f32>, %j: tensor<f32>):
      // expected-note @below {{the condition}}
      %c = gantry.compare lt, %i, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
      gantry.yield %c : tensor<i1>
    } do {
    ^bb0(%i: tensor<f32>, %j: tensor<f32>):
      // expected-error @below {{'gantry.all_reduce' op is inside of a gantry.while whose condition may differ between the replicas, so that not all of them would take part; compute the condition from what they have in common: constants, broadcast inputs, results of gantry.all_reduce}}
      %r = gantry.all_reduce sum %v : (tensor<f32>) -> tensor<f32>
      %n = gantry.add %j, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
      gantry.yield %j, %n : tensor<f32>, tensor<f32>
    }
    gantry.yield
  }
  return
}

// -----

// Also in the condition itself, and further out.
func.func @condition(%x: tensor<6xf32>, %v: tensor<f32>, %flag: tensor<i1>) {
  // expected-note @below {{it is computed from input 0 of the region, which is split 0}}
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    gantry.while () : () -> () {
      gantry.if %flag {
        // expected-error @below {{'gantry.all_reduce' op is inside of a gantry.while whose condition may differ between the replicas, so that not all of them would take part; compute the condition from what they have in common: constants, broadcast inputs, results of gantry.all_reduce}}
        %r = gantry.all_reduce sum %v : (tensor<f32>) -> tensor<f32>
        gantry.yield
      } else {
        gantry.yield
      } : tensor<i1>
      // expected-note @below {{the condition}}
      %c = gantry.compare lt, %s, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
      gantry.yield %c : tensor<i1>
    } do {
      gantry.yield
    }
    gantry.yield
  }
  return
}

// -----

// What a branch gives is another value where another branch is taken, and so is how often a loop ran.
func.func @results(%x: tensor<6xf32>, %zero: tensor<f32>, %one: tensor<f32>, %v: tensor<f32>) {
  // expected-note @below {{it is computed from input 0 of the region, which is split 0}}
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %d = gantry.compare lt, %s, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %t = gantry.if %d -> (tensor<f32>) {
      gantry.yield %zero : tensor<f32>
    } else {
      gantry.yield %one : tensor<f32>
    } : tensor<i1>
    %y = gantry.while (%zero) : (tensor<f32>) -> tensor<f32> {
    ^bb0(%i: tensor<f32>):
      %more = gantry.compare lt, %i, %t : (tensor<f32>, tensor<f32>) -> tensor<i1>
      gantry.yield %more : tensor<i1>
    } do {
    ^bb0(%i: tensor<f32>):
      %n = gantry.add %i, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
      gantry.yield %n : tensor<f32>
    }
    // expected-note @below {{the condition}}
    %c = gantry.compare lt, %y, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
    gantry.if %c {
      // expected-error @below {{'gantry.all_reduce' op is inside of a gantry.if whose condition may differ between the replicas, so that not all of them would take part; compute the condition from what they have in common: constants, broadcast inputs, results of gantry.all_reduce}}
      %r = gantry.all_reduce sum %v : (tensor<f32>) -> tensor<f32>
      gantry.yield
    } else {
      gantry.yield
    } : tensor<i1>
    gantry.yield
  }
  return
}

// -----

// Another function has left another value in the replicas' mirrors.
gantry.variable @w = dense<0.5> : tensor<f32>
func.func @reader(%v: tensor<f32>) {
  gantry.replicate () on ["GPU:0", "GPU:1"] takes [] gives [] : () -> () {
    %w = gantry.read @w : tensor<f32>
    // expected-note @below {{the condition}}
    %c = gantry.compare lt, %w, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
    gantry.if %c {
      // expected-error @below {{'gantry.all_reduce' op is inside of a gantry.if whose condition may differ between the replicas, so that not all of them would take part; compute the condition from what they have in common: constants, broadcast inputs, results of gantry.all_reduce}}
      %r = gantry.all_reduce sum %v : (tensor<f32>) -> tensor<f32>
      gantry.yield
    } else {
      gantry.yield
    } : tensor<i1>
    gantry.yield
  }
  return
}
func.func @writer(%x: tensor<6xf32>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    // expected-note @below {{it is computed from '@w', of which each replica has a mirror and here assigns its own value}}
    gantry.assign_add @w, %s : tensor<f32>
    gantry.yield
  }
  return
}

// -----

// The same value for all, but not all of them assign it.
gantry.variable @w = dense<0.5> : tensor<f32>
func.func @reader(%v: tensor<f32>) {
  gantry.replicate () on ["GPU:0", "GPU:1"] takes [] gives [] : () -> () {
    %w = gantry.read @w : tensor<f32>
    // expected-note @below {{the condition}}
    %c = gantry.compare lt, %w, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
    gantry.if %c {
      // expected-error @below {{'gantry.all_reduce' op is inside of a gantry.if whose condition may differ between the replicas, so that not all of them would take part; compute the condition from what they have in common: constants, broadcast inputs, results of gantry.all_reduce}}
      %r = gantry.all_reduce sum %v : (tensor<f32>) -> tensor<f32>
      gantry.yield
    } else {
      gantry.yield
    } : tensor<i1>
    gantry.yield
  }
  return
}
func.func @writer(%x: tensor<6xf32>, %l: tensor<f32>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    gantry.while () : () -> () {
      %c = gantry.compare lt, %s, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>
      gantry.yield %c : tensor<i1>
    } do {
      // expected-note @below {{it is computed from '@w', of which each replica has a mirror and here assigns its own value}}
      gantry.assign @w, %l : tensor<f32>
      gantry.yield
    }
    gantry.yield
  }
  return
}

// -----

// A gradient is made of what its region reads.
func.func @gradient(%x: tensor<6xf32>, %w: tensor<f32>, %v: tensor<f32>) {
  // expected-note @below {{it is computed from input 0 of the region, which is split 0}}
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %g:2 = gantry.gradient (%w) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    ^bb0(%b: tensor<f32>):
      %0 = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
      %1 = gantry.mul %0, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = gantry.all_reduce sum %1 : (tensor<f32>) -> tensor<f32>
      gantry.yield %2 : tensor<f32>
    }
    // expected-note @below {{the condition}}
    %c = gantry.compare lt, %g#1, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
    gantry.if %c {
      // expected-error @below {{'gantry.all_reduce' op is inside of a gantry.if whose condition may differ between the replicas, so that not all of them would take part; compute the condition from what they have in common: constants, broadcast inputs, results of gantry.all_reduce}}
      %r = gantry.all_reduce sum %v : (tensor<f32>) -> tensor<f32>
      gantry.yield
    } else {
      gantry.yield
    } : tensor<i1>
    gantry.yield
  }
  return
}

// -----

// A mean weighs each replica by its rows, which the share did before.
func.func @shared_mean(%x: tensor<6xf32>, %w: tensor<f32>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    // expected-note @below {{it is computed from the replica's share of the batch}}
    %s = gantry.share : tensor<f32>
    %g:2 = gantry.gradient (%w, %s) seeds 1 : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    ^bb0(%b: tensor<f32>):
      %0 = gantry.mul %a, %b : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
      %1 = gantry.reduce_mean %0 {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
      gantry.yield %1 : tensor<f32>
    }
    // expected-error @below {{'gantry.all_reduce' op takes the mean of a value that has the replica's share in it, so that its rows would weigh twice; add them up: sum in the place of mean}}
    %r = gantry.all_reduce mean %g#1 : (tensor<f32>) -> tensor<f32>
    gantry.yield
  }
  return
}

// -----

// So does a mean that leaves the region.
func.func @shared_result(%x: tensor<6xf32>) -> (tensor<f32>, tensor<f32>) {
  // expected-error @below {{'gantry.replicate' op takes the mean of result 1 that has the replica's share in it, so that its rows would weigh twice; add them up: sum in the place of mean}}
  %y:2 = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [sum, mean] : (tensor<6xf32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<?xf32>):
    // expected-note @below {{it is computed from the replica's share of the batch}}
    %s = gantry.share : tensor<f32>
    %0 = gantry.reduce_mean %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %1 = gantry.mul %0, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
    gantry.yield %1, %1 : tensor<f32>, tensor<f32>
  }
  return %y#0, %y#1 : tensor<f32>, tensor<f32>
}
