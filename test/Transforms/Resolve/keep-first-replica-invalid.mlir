// RUN: gantry-opt %s --split-input-file --gantry-keep-first-replica --verify-diagnostics

func.func @r5_takes(%x: tensor<6xf32>, %y: tensor<6xf32>) {
  // expected-error @below {{'gantry.replicate' op has a value for each of 2 replicas (input 1 is per_replica), so there is no program for one device to compare it with}}
  gantry.replicate (%x, %x, %y) on ["GPU:0", "GPU:1"] takes [broadcast, per_replica] gives [] : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> () {
  ^bb0(%a: tensor<6xf32>, %b: tensor<6xf32>):
    gantry.yield
  }
  return
}

// -----

func.func @r5_gives(%x: tensor<6xf32>) {
  // expected-error @below {{'gantry.replicate' op has a value for each of 2 replicas (output 0 is per_replica), so there is no program for one device to compare it with}}
  %y:2 = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [broadcast] gives [per_replica] : (tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  ^bb0(%a: tensor<6xf32>):
    gantry.yield %a : tensor<6xf32>
  }
  return
}

// -----

// expected-error @below {{the graph has no gantry.replicate, so there are no replicas to compare with one device; give --replicate to make some}}
module {
  func.func @r5_none() {
    return
  }
}
