// RUN: gantry-opt %s --split-input-file --gantry-check-mirrors --verify-diagnostics

// What each replica has of its own rows.
gantry.variable @w = dense<0.5> : tensor<f32>
func.func @shard(%x: tensor<6xf32>) {
  // expected-note @below {{it is computed from input 0 of the region, which is split 0}}
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    // expected-error @below {{'gantry.assign' op assigns '@w', of which each replica has a mirror, a value that may differ between the replicas, so that the mirrors would; assign what gantry.all_reduce makes of it, or declare the variable local}}
    gantry.assign @w, %s : tensor<f32>
    gantry.yield
  }
  return
}

// -----

// The same value, but not every replica assigns it.
gantry.variable @w = dense<0.5> : tensor<f32>
func.func @condition(%x: tensor<6xf32>, %l: tensor<f32>) {
  // expected-note @below {{it is computed from input 0 of the region, which is split 0}}
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %c = gantry.compare lt, %s, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>
    gantry.if %c {
      // expected-error @below {{'gantry.assign_add' op assigns '@w', of which each replica has a mirror, a value that may differ between the replicas, so that the mirrors would; assign what gantry.all_reduce makes of it, or declare the variable local}}
      gantry.assign_add @w, %l : tensor<f32>
      gantry.yield
    } else {
      gantry.yield
    } : tensor<i1>
    gantry.yield
  }
  return
}

// -----

// A gradient of the replica's own rows.
gantry.variable @w = dense<0.5> : tensor<f32>
func.func @gradient(%x: tensor<6xf32>) {
  // expected-note @below {{it is computed from input 0 of the region, which is split 0}}
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %w = gantry.read @w : tensor<f32>
    %g:2 = gantry.gradient (%w) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    ^bb0(%b: tensor<f32>):
      %0 = gantry.mul %a, %b : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
      %1 = gantry.reduce_mean %0 {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
      gantry.yield %1 : tensor<f32>
    }
    // expected-error @below {{'gantry.assign_add' op assigns '@w', of which each replica has a mirror, a value that may differ between the replicas, so that the mirrors would; assign what gantry.all_reduce makes of it, or declare the variable local}}
    gantry.assign_add @w, %g#1 : tensor<f32>
    gantry.yield
  }
  return
}

// -----

// The share of the batch is another one for each.
gantry.variable @w = dense<0.5> : tensor<f32>
func.func @share(%x: tensor<6xf32>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    // expected-note @below {{it is computed from the replica's share of the batch}}
    %s = gantry.share : tensor<f32>
    // expected-error @below {{'gantry.assign' op assigns '@w', of which each replica has a mirror, a value that may differ between the replicas, so that the mirrors would; assign what gantry.all_reduce makes of it, or declare the variable local}}
    gantry.assign @w, %s : tensor<f32>
    gantry.yield
  }
  return
}

// -----

// A local variable may differ, and so may then what is computed from it.
gantry.variable local @own = dense<0.5> : tensor<f32>
gantry.variable @w = dense<0.5> : tensor<f32>
func.func @local(%x: tensor<6xf32>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    // expected-note @below {{it is computed from '@own', of which each replica has a mirror and here assigns its own value}}
    gantry.assign @own, %s : tensor<f32>
    %o = gantry.read @own : tensor<f32>
    // expected-error @below {{'gantry.assign' op assigns '@w', of which each replica has a mirror, a value that may differ between the replicas, so that the mirrors would; assign what gantry.all_reduce makes of it, or declare the variable local}}
    gantry.assign @w, %o : tensor<f32>
    gantry.yield
  }
  return
}

// -----

// A device has several parts of a batch, and one value for all of them.
gantry.variable local @own = dense<0.5> : tensor<f32>
func.func @local_of_parts(%x: tensor<6xf32>) {
  gantry.replicate (%x) on ["GPU:0"] parts 3 takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    // expected-error @below {{'gantry.assign' op assigns '@own', which each device has for itself, a value that may differ between the parts of the batch, of which a device has several; assign what gantry.all_reduce makes of it, or leave 'parts' out}}
    gantry.assign @own, %s : tensor<f32>
    gantry.yield
  }
  return
}

// -----

// On one device parts differ all the same.
gantry.variable @w = dense<0.5> : tensor<f32>
func.func @parts_of_one_device(%x: tensor<6xf32>) {
  // expected-note @below {{it is computed from input 0 of the region, which is split 0}}
  gantry.replicate (%x) on ["GPU:0"] parts 3 takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    // expected-error @below {{'gantry.assign' op assigns '@w', of which each replica has a mirror, a value that may differ between the replicas, so that the mirrors would; assign what gantry.all_reduce makes of it, or declare the variable local}}
    gantry.assign @w, %s : tensor<f32>
    gantry.yield
  }
  return
}

// -----

func.func @result_of_devices(%x: tensor<6xf32>) -> (tensor<f32>, tensor<f32>) {
  // expected-error @below {{'gantry.replicate' op gives result 0 per_replica, one for each device, and it may differ between the parts of the batch, of which a device has several; give it as gather, sum or mean}}
  // expected-note @below {{it is computed from input 0 of the region, which is split 0}}
  %0:2 = gantry.replicate (%x) on ["GPU:0", "GPU:1"] parts 3 takes [split 0] gives [per_replica] : (tensor<6xf32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    gantry.yield %s : tensor<f32>
  }
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}
