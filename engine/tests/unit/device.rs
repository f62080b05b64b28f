use cotangent_engine::{Device, DeviceError};

#[test]
fn names_that_are_no_device_are_refused() {
    for name in ["", "gpu", "opencl:", "opencl:-1", "cpu:0"] {
        let error = name.parse::<Device>().unwrap_err();
        assert_eq!(error, DeviceError::Name(name.to_owned()));
        assert!(error.to_string().contains("opencl:N"));
    }
    assert_eq!("cpu".parse::<Device>().unwrap().to_string(), "cpu");
    #[cfg(not(feature = "opencl"))]
    assert!("opencl:1".parse::<Device>().unwrap_err().to_string().contains("--features opencl"));
}
